#include "engines/kernel/intra_node.hpp"

namespace lapwing::kernel {

std::size_t IntraNodePlan::add(const Task& task) {
    if (task.kind == Kind::wait) return messages_.wait(task.peer, task.count);
    if (sends(task.kind)) return messages_.send();
    ++receives_;
    return messages_.recv(task.peer);
}

void IntraNodeProgress::restart(const IntraNodePlan& plan) {
    messages.restart();
    sends = receives = 0;
    open = !plan.empty();
}

bool IntraNodeMessages::do_step(const Task& task, std::size_t index, const Memory& memory,
                                std::uint32_t channel, Caller caller, IntraNodeProgress& progress) {
    if (task.kind == Kind::wait) return progress.messages.seen(index);
    if (!may_use_link(caller, progress)) return false;
    Link::Transfer& transfer = progress.messages[index];
    if (task.kind == Kind::recv) {
        link_->recv(task.peer, memory.target(task.target), task.target.length, channel, transfer);
        ++progress.receives;
    } else {
        link_->send(task.peer, memory.source(task.source), task.source.length, channel, transfer);
        ++progress.sends;
    }
    progress.open = true;
    return true;
}

void IntraNodeMessages::test_all(const IntraNodePlan& plan, Caller caller, IntraNodeProgress& progress) {
    // Receives are tested from the first on, so all of them must have been posted.
    if (!progress.open || progress.receives < plan.receives() || !may_use_link(caller, progress)) return;
    const MessagePlan& messages = plan.messages();
    const bool arrived = progress.messages.arrived(*link_, messages, messages.awaited().size());
    const bool sent = progress.messages.sent(*link_, messages, progress.sends);
    progress.open = !arrived || !sent;
}

void IntraNodeMessages::flush() {
    if (link_ != nullptr) link_->flush();
}

}  // namespace lapwing::kernel
