// The messages of a list on a link. The host engine uses this for all messages, the kernel engine for those
// of intra-node peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "links/link.hpp"

namespace lapwing {

// The transfers that the tasks of a list start and wait for. Made once; tasks are added in the list's order.
class MessagePlan {
  public:
    // send() and recv() return the index of the transfer.
    std::size_t send() {
        sends_.push_back(transfers_);
        return transfers_++;
    }
    std::size_t recv(int peer) {
        receives_[peer].transfers.push_back(transfers_);
        return transfers_++;
    }
    // Returns the end of the wait's receives in awaited().
    std::size_t wait(int peer, std::uint64_t count) {
        Receives& of_peer = receives_[peer];
        if (of_peer.transfers.size() - of_peer.waited < count)
            throw Error(ErrorCode::internal, "a list waits for a receive that it has not posted");
        for (std::uint64_t i = 0; i < count; ++i) awaited_.push_back(of_peer.transfers[of_peer.waited++]);
        return awaited_.size();
    }

    std::size_t transfers() const { return transfers_; }
    const std::vector<std::size_t>& awaited() const { return awaited_; }
    const std::vector<std::size_t>& sends() const { return sends_; }

  private:
    struct Receives {
        std::vector<std::size_t> transfers;
        std::size_t waited = 0;
    };

    std::size_t transfers_ = 0;
    std::vector<std::size_t> sends_;
    std::vector<std::size_t> awaited_;  // the receives of each wait, one wait after the other
    std::unordered_map<int, Receives> receives_;
};

// The messages of one run.
class Messages {
  public:
    void make(const MessagePlan& plan) { transfers_.resize(plan.transfers()); }
    void restart() { awaited_ = sent_ = 0; }

    Link::Transfer& operator[](std::size_t index) { return transfers_[index]; }
    // Tests the awaited receives up to `end`, which must have been posted; returns whether all have arrived.
    // Throws as Link::test().
    bool arrived(Link& link, const MessagePlan& plan, std::size_t end) {
        for (; awaited_ < end; ++awaited_) {
            if (!link.test(transfers_[plan.awaited()[awaited_]])) return false;
        }
        return true;
    }
    // Returns whether the receives were complete when they were posted. Does not call the link.
    bool came_at_once(const MessagePlan& plan, std::size_t end) {
        while (awaited_ < end && !transfers_[plan.awaited()[awaited_]].active) ++awaited_;
        return awaited_ >= end;
    }
    // Returns whether the receives are known to have arrived. Does not call the link.
    bool seen(std::size_t end) const { return awaited_ >= end; }
    // Returns whether all sends were complete when they were started.
    bool went_at_once(const MessagePlan& plan) {
        while (sent_ < plan.sends().size() && !transfers_[plan.sends()[sent_]].active) ++sent_;
        return sent_ == plan.sends().size();
    }
    // Tests the first `count` sends, which must have been started; returns whether all are complete. Throws
    // as Link::test().
    bool sent(Link& link, const MessagePlan& plan, std::size_t count) {
        for (; sent_ < count; ++sent_) {
            if (!link.test(transfers_[plan.sends()[sent_]])) return false;
        }
        return true;
    }

  private:
    std::vector<Link::Transfer> transfers_;
    std::size_t awaited_ = 0;  // index in awaited(): the next receive
    std::size_t sent_ = 0;     // index in sends(): the next send
};

}  // namespace lapwing
