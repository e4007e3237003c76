// Real queue pairs that move the messages of a double: of the first device that libibverbs finds, which is
// Soft-RoCE's in the guest of scripts/test-rdma. The double still interprets WAIT, SEND_EN and all counts.
#pragma once

#include <memory>

#include "engines/doubles/mlx5/wire.hpp"

namespace lapwing::mlx5_double {

// One wire for each card, all of one machine. Throws Error (unsupported) with the reason if there is no
// device.
std::unique_ptr<Wire> open_soft_roce();

}  // namespace lapwing::mlx5_double
