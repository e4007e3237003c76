// The messages of a list that stay inside the node: they go over a link of their own, through shared memory,
// and the processor sees to them. Nothing else of the kernel engine touches that link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/caller.hpp"
#include "engines/memory.hpp"
#include "engines/messages.hpp"
#include "links/link.hpp"
#include "task/task.hpp"

namespace lapwing::kernel {

// `intra_node` says it of each rank; empty: no peer is.
inline bool is_intra_node(const std::vector<bool>& intra_node, const Task& task) {
    const auto peer = static_cast<std::size_t>(task.peer);
    return task.peer >= 0 && peer < intra_node.size() && intra_node[peer];
}

// Those of one list.
class IntraNodePlan {
  public:
    // A send, a receive or a wait; in the list's order. Gives the index that IntraNodeMessages::take() needs.
    std::size_t add(const Task& task);

    const MessagePlan& messages() const { return messages_; }
    std::size_t receives() const { return receives_; }
    bool empty() const { return messages_.transfers() == 0; }

  private:
    MessagePlan messages_;
    std::size_t receives_ = 0;
};

// How far one run has come with them.
struct IntraNodeProgress {
    Messages messages;
    std::size_t sends = 0;     // that have been started
    std::size_t receives = 0;  // that have been posted
    bool open = false;         // some messages are not known to be complete

    void prepare(const IntraNodePlan& plan) { messages.make(plan.messages()); }
    void restart(const IntraNodePlan& plan);
};

// Those of a group. All but wait steps are for threads of the program: the link belongs to one thread at a
// time, and is theirs.
class IntraNodeMessages {
  public:
    // Null: there are no intra-node peers.
    explicit IntraNodeMessages(Link* link) : link_(link) {}

    // Starts a message, or looks whether those that a wait names are known to have come. False: not yet, and
    // it takes a thread of the program to go on. Throws Error (link).
    bool take(const Task& task, std::size_t index, const Memory& memory, std::uint32_t channel, Caller caller,
              IntraNodeProgress& progress);
    // Takes in what has come, also ahead of the step that waits for it: the peer may need that to go on.
    // Throws Error (link).
    void take_in(const IntraNodePlan& plan, Caller caller, IntraNodeProgress& progress);
    // Wakes peers that sleep until something is sent.
    void flush();
    // Readable when there may be news. -1: there is none to be had, ask again.
    int poll_descriptor() { return link_->poll_descriptor(); }

  private:
    bool may_use_link(Caller caller);

    Link* link_;
    bool ready_ = false;
};

}  // namespace lapwing::kernel
