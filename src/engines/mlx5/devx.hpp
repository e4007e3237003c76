// Cards of this host, by DevX: the interface of Linux and rdma-core to a card's own commands.
#pragma once

#include <memory>
#include <string>

#include "base/verdict.hpp"
#include "engines/mlx5/device.hpp"

namespace lapwing::mlx5 {

// Whether there is a card that this build can open. Looks only once.
Verdict devx_available();

// The first card with an active port, or the one of that name ("mlx5_0"). Throws Error (unsupported, system).
std::unique_ptr<Device> open_devx(const std::string& name = {});

}  // namespace lapwing::mlx5
