// Real queue pairs below the double of a card: of the first device that libibverbs finds, which is
// Soft-RoCE's in the guest of scripts/test-rdma. It is a double all the same: WAIT, SEND_EN and all that
// counts is interpreted.
#pragma once

#include <memory>

#include "engines/doubles/mlx5/wire.hpp"

namespace lapwing::mlx5_double {

// One for each card, all of one machine. Throws Error (unsupported) with the reason where there is no device.
std::unique_ptr<Wire> open_soft_roce();

}  // namespace lapwing::mlx5_double
