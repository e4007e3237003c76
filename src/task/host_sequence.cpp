#include "task/host_sequence.hpp"

#include <algorithm>

namespace lapwing {

HostSequence::HostSequence(const List& list, const std::vector<bool>& intra_node) : intra_node_(intra_node) {
    exists_ = std::any_of(list.tasks.begin(), list.tasks.end(),
                          [this](const Task& task) { return is_intra_node(task); });
}

// Before the first wait of a stage, copies, reductions and intra-node sends may overtake the stage's sends.
// An intra-node wait may not, because the sends must not wait for it.
void HostSequence::add(const Task& task, Stage& stage, Before before) {
    const bool is_wait = task.kind == Kind::wait;
    if (is_wait && task.count == 0) return;
    if (!before.waits && stage.beside.empty() && !(is_wait && before.sends)) {
        stage.local.push_back(task);
        return;
    }
    stage.beside.insert(stage.beside.end(), awaited_.begin(), awaited_.end());
    awaited_.clear();
    stage.beside.push_back(task);
    const bool is_message = task.kind == Kind::recv || sends(task.kind);
    next_send_waits_ = next_send_waits_ || !is_message;
}

void HostSequence::note_wait(int peer, std::uint64_t receives) {
    if (!exists_) return;
    std::size_t& index = index_[peer];
    if (index >= awaited_.size() || awaited_[index].peer != peer) {
        index = awaited_.size();
        Task& wait = awaited_.emplace_back();
        wait.kind = Kind::wait;
        wait.peer = peer;
    }
    awaited_[index].count = receives;
}

}  // namespace lapwing
