#include "engines/kernel/host_step_plan.hpp"

#include "base/error.hpp"

namespace lapwing::kernel {

void HostStepPlan::add(const Task& task) {
    switch (task.kind) {
        case Kind::copy:
        case Kind::reduce:
            has_work_ = true;
            if (task.kind == Kind::reduce && task.op == Operator::user) needs_program_ = true;
            steps_.push_back({HostStep::Kind::work, 0, 0, task});
            return;
        case Kind::enable_send:
        case Kind::enable_recv:
            throw Error(ErrorCode::internal, "the kernel engine runs lists, not queues");
        default:
            steps_.push_back({HostStep::Kind::intra_node, 0, intra_node_.add(task), task});
    }
}

void HostStepPlan::add_receipt(std::uint32_t chain, std::uint32_t steps) {
    steps_.push_back({HostStep::Kind::receipt, chain, steps});
}

}  // namespace lapwing::kernel
