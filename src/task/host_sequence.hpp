// The tasks that the processor runs when some peers of a list are intra-node: messages of intra-node peers,
// which use another link, and copies and reductions. The processor runs them in list order, beside the chain
// of sends, whose peers are then all inter-node. Each side waits for the other only where the list requires
// it:
//
// - An inter-node send waits for all earlier tasks of the processor except intra-node sends. Therefore an
//   intra-node wait, a copy or a reduction between inter-node sends starts a new stage.
// - A task of the processor waits for the inter-node receives that the list waits for before the task. The
//   sequence has a wait for that inter-node peer, which counts receives from the beginning of the list. The
//   processor checks receives itself and needs no gate.
//
// The sequence is empty if the list has no intra-node peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "task/chain_form.hpp"
#include "task/list.hpp"

namespace lapwing {

class HostSequence {
  public:
    // `intra_node`: by rank; must outlive this object.
    HostSequence(const List& list, const std::vector<bool>& intra_node);

    // Returns whether the task belongs to the sequence.
    bool takes(const Task& task) const {
        return exists_ && (task.kind == Kind::copy || task.kind == Kind::reduce || is_intra_node(task));
    }
    // Whether sends and waits precede a task in the chain of sends of the current stage.
    struct Before {
        bool sends = false;
        bool waits = false;
    };
    void add(const Task& task, Stage& stage, Before before);
    // The list has waited for the first `receives` receives of an inter-node peer.
    void note_wait(int peer, std::uint64_t receives);
    // Returns whether an inter-node send must begin a new stage, to wait for the processor.
    bool next_send_waits() const { return next_send_waits_; }
    void finish_stage() { next_send_waits_ = false; }

  private:
    bool is_intra_node(const Task& task) const {
        return task.peer >= 0 && static_cast<std::size_t>(task.peer) < intra_node_.size() &&
               intra_node_[static_cast<std::size_t>(task.peer)];
    }

    const std::vector<bool>& intra_node_;
    bool exists_ = false;
    bool next_send_waits_ = false;
    std::vector<Task> awaited_;  // waits for inter-node peers since the last task of the sequence
    std::unordered_map<int, std::size_t> index_;  // peer to index in awaited_
};

}  // namespace lapwing
