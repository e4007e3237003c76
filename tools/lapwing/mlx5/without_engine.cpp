#include "base/error.hpp"
#include "lapwing/mlx5/commands.hpp"

namespace lapwing::tool {
namespace {

[[noreturn]] void refuse(const std::string& option) {
    throw Error(ErrorCode::unsupported, option + " needs the mlx5 engine, which this build does not have");
}

}  // namespace

int examine_nics(const std::string& /*name*/, bool /*json*/) {
    refuse("--nic");
}

std::string print_work_queues(const Problem& /*problem*/, const Choice& /*choice*/,
                              std::span<const List> /*shown*/, const std::string& /*variant*/) {
    refuse("--level wqe");
}

}  // namespace lapwing::tool
