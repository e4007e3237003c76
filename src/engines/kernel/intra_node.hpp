// The intra-node messages of a list. They use a link of their own, through shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/memory.hpp"
#include "engines/messages.hpp"
#include "links/link.hpp"
#include "task/task.hpp"

namespace lapwing::kernel {

// The thread that is inside the kernel engine.
enum class Caller {
    program,  // a thread of the program, in one of its calls
    // The event thread, or the progress thread of the job. Must not call the program's own reduction
    // function, and uses the intra-node link only for runs that allow that.
    event_thread,
};

// `intra_node`: by rank; empty if no peer is intra-node.
inline bool is_intra_node(const std::vector<bool>& intra_node, const Task& task) {
    const auto peer = static_cast<std::size_t>(task.peer);
    return task.peer >= 0 && peer < intra_node.size() && intra_node[peer];
}

// The intra-node messages of one list.
class IntraNodePlan {
  public:
    // Adds a send, a receive or a wait, in the list's order. Returns the index for
    // IntraNodeMessages::do_step().
    std::size_t add(const Task& task);

    const MessagePlan& messages() const { return messages_; }
    std::size_t receives() const { return receives_; }
    bool empty() const { return messages_.transfers() == 0; }

  private:
    MessagePlan messages_;
    std::size_t receives_ = 0;
};

// The progress of one run.
struct IntraNodeProgress {
    Messages messages;
    std::size_t sends = 0;     // started
    std::size_t receives = 0;  // posted
    bool open = false;         // a message may be incomplete
    bool any_thread = false;   // not only threads of the program advance them

    void prepare(const IntraNodePlan& plan) { messages.make(plan.messages()); }
    void restart(const IntraNodePlan& plan);
};

// The intra-node messages of a group. One thread at a time uses it.
class IntraNodeMessages {
  public:
    // `link` may be null if there are no intra-node peers.
    explicit IntraNodeMessages(Link* link) : link_(link) {}

    // Starts a message, or checks whether those of a wait have arrived. Returns false if the step needs a
    // thread of the program later. Throws Error (link).
    bool do_step(const Task& task, std::size_t index, const Memory& memory, std::uint32_t channel,
                 Caller caller, IntraNodeProgress& progress);
    // Tests all messages that have been started, also before the step that waits for them, because the peer
    // may need that to advance. Throws Error (link).
    void test_all(const IntraNodePlan& plan, Caller caller, IntraNodeProgress& progress);
    // Wakes peers that sleep until something is sent.
    void flush();
    // Readable when messages may have arrived; -1 if the caller must poll.
    int poll_descriptor() { return link_->poll_descriptor(); }

  private:
    static bool may_use_link(Caller caller, const IntraNodeProgress& progress) {
        return caller == Caller::program || progress.any_thread;
    }

    Link* link_;
};

}  // namespace lapwing::kernel
