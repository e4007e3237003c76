// The messages of a list on a link. The host engine uses this for all messages, the kernel engine for those
// of intra-node peers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "links/link.hpp"
#include "task/task.hpp"

namespace lapwing {

// The messages that the tasks of a list start and wait for. Made once. Sends and receives are numbered from 0
// in the list's order.
class MessagePlan {
  public:
    MessagePlan() = default;
    // Ignores tasks without messages. Throws Error (internal) if a wait is for a receive that is not before
    // it.
    explicit MessagePlan(std::span<const Task> tasks);

    std::size_t sends() const { return sends_; }
    std::size_t receives() const { return receives_; }
    // The number of receives that the list waits for.
    std::size_t awaited() const { return awaited_; }
    // The number of the receive that is the `index`-th to be awaited.
    std::size_t awaited(std::size_t index) const { return order_.empty() ? index : order_[index]; }

  private:
    void find_order(std::span<const Task> tasks);

    std::size_t sends_ = 0;
    std::size_t receives_ = 0;
    std::size_t awaited_ = 0;
    std::vector<std::size_t> order_;  // empty if the waits are in the order of the receives
};

// The messages of one run.
class Messages {
  public:
    // Before the first message of each run of the list.
    void restart(const MessagePlan& plan) {
        first_send_ = plan.receives();
        if (transfers_.size() < first_send_ + plan.sends()) transfers_.resize(first_send_ + plan.sends());
        started_receives_ = started_sends_ = awaited_ = sent_ = 0;
    }

    // For the next message of the list to be started.
    Link::Transfer& next_receive() { return transfers_[started_receives_++]; }
    Link::Transfer& next_send() { return transfers_[first_send_ + started_sends_++]; }
    // Tests the awaited receives up to `end`, which must have been posted; returns whether all have arrived.
    // Throws as Link::test().
    bool arrived(Link& link, const MessagePlan& plan, std::size_t end) {
        for (; awaited_ < end; ++awaited_) {
            if (!link.test(transfers_[plan.awaited(awaited_)])) return false;
        }
        return true;
    }
    // Returns whether the receives were complete when they were posted. Does not call the link.
    bool came_at_once(const MessagePlan& plan, std::size_t end) {
        while (awaited_ < end && !transfers_[plan.awaited(awaited_)].active) ++awaited_;
        return awaited_ >= end;
    }
    // Returns whether the receives are known to have arrived. Does not call the link.
    bool seen(std::size_t end) const { return awaited_ >= end; }
    // Returns whether all started sends were complete when they were started.
    bool went_at_once() {
        while (sent_ < started_sends_ && !transfers_[first_send_ + sent_].active) ++sent_;
        return sent_ == started_sends_;
    }
    // Tests the started sends; returns whether all are complete. Throws as Link::test().
    bool sent(Link& link) {
        for (; sent_ < started_sends_; ++sent_) {
            if (!link.test(transfers_[first_send_ + sent_])) return false;
        }
        return true;
    }

  private:
    std::vector<Link::Transfer> transfers_;  // first the receives
    std::size_t first_send_ = 0;
    std::size_t started_receives_ = 0;
    std::size_t started_sends_ = 0;
    std::size_t awaited_ = 0;  // that are known to have arrived
    std::size_t sent_ = 0;     // sends that are known to be complete
};

}  // namespace lapwing
