// What the processor does of a list some of whose peers are intra-node: their messages, which go over a link
// of another kind, and the list's copies and reductions; in the list's order, beside the chain of sends,
// which are all inter-node then. Each of the two waits for the other only where the list says so:
//
// - An inter-node send waits for what the processor does before it in the list, except intra-node sends: so
// an
//   intra-node wait, a copy or a reduction between inter-node sends makes a stage.
// - What the processor does waits for the inter-node receives that the list waits for before it. In its
//   sequence that is a wait for the inter-node peer, which counts from the beginning of the list. The
//   processor looks at receives itself, so it needs no gate.
//
// Without intra-node peers there is no such sequence, and nothing here does anything.
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
    // `intra_node` by rank; it outlives this.
    HostSequence(const List& list, const std::vector<bool>& intra_node);

    // Whether the task belongs into the sequence.
    bool takes(const Task& task) const {
        return exists_ && (task.kind == Kind::copy || task.kind == Kind::reduce || is_intra_node(task));
    }
    // What stands in the chain of sends of the present stage before a task.
    struct Before {
        bool sends = false;
        bool waits = false;
    };
    void add(const Task& task, Stage& stage, Before before);
    // The list has waited for the first `receives` receives of an inter-node peer.
    void note_wait(int peer, std::uint64_t receives);
    // Whether an inter-node send must begin a new stage, to wait for what the processor does.
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
    // Waits for inter-node peers since the last task of the sequence, and where that of each peer stands.
    std::vector<Task> awaited_;
    std::unordered_map<int, std::size_t> place_;
};

}  // namespace lapwing
