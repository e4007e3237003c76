// Collectives and messages of scripts, each with the ranks that have started it: which send meets which
// receive.
//
// The collectives of a communicator are the same for all its members, in the same order. Messages match as in
// MPI: a send meets the first posted receive that accepts it, a receive the first send that has not met one.
// A send counts from its start, not from its arrival; this decides only which of several senders a receive
// from any source meets.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace lapwing::simulate {

class Meetings {
  public:
    static constexpr std::int32_t any = -1;

    // What a send or a receive names. The source and the tag of a receive may be `any`.
    struct Envelope {
        std::int32_t sender = any;
        std::int32_t receiver = 0;
        std::int32_t context = 0;  // the communicator
        std::int32_t tag = any;
    };

    // Begins the rank's next collective on a communicator of `members` ranks with `messages` messages.
    // Returns its index.
    std::int32_t join(std::int32_t communicator, std::int32_t rank, std::int32_t member, std::int32_t members,
                      std::uint32_t messages, std::int32_t request) {
        const std::uint64_t key =
            key_of(communicator, counts_[key_of(communicator, static_cast<std::uint32_t>(rank))]++);
        const auto [found, fresh] = collectives_.try_emplace(key, 0);
        if (fresh) {
            found->second = begin(members, messages);
            of(found->second).collective = key;
        }
        Meeting& meeting = of(found->second);
        if (meeting.messages != messages) {
            throw Error(
                ErrorCode::invalid_argument,
                "the program: ranks of a communicator call different collectives, or in different orders");
        }
        meeting.requests[static_cast<std::size_t>(member)] = request;
        return found->second;
    }

    // Begin a message, whose member 0 is the sender and whose member 1 is the receiver. `operation` is the
    // sender's.
    std::int32_t send(const Envelope& envelope, std::int32_t request, std::int32_t operation) {
        Unmatched& unmatched = unmatched_[envelope.receiver];
        std::int32_t index = take(unmatched.receives, envelope);
        if (index < 0) {
            index = begin(2, 1);
            unmatched.sends.push_back({envelope, index});
        }
        Meeting& meeting = of(index);
        meeting.sender = envelope.sender;
        meeting.operation = operation;
        meeting.requests[0] = request;
        return index;
    }

    std::int32_t receive(const Envelope& envelope, std::int32_t request) {
        Unmatched& unmatched = unmatched_[envelope.receiver];
        std::int32_t index = take(unmatched.sends, envelope);
        if (index < 0) {
            index = begin(2, 1);
            unmatched.receives.push_back({envelope, index});
        }
        of(index).requests[1] = request;
        return index;
    }

    std::uint32_t first_slot(std::int32_t index) const { return of(index).first_slot; }
    // Returns the request of a member, or -1 if the member has not started.
    std::int32_t request(std::int32_t index, std::int32_t member) const {
        return of(index).requests[static_cast<std::size_t>(member)];
    }
    // Of a message that the sender has started.
    std::int32_t sender(std::int32_t index) const { return of(index).sender; }
    std::int32_t operation(std::int32_t index) const { return of(index).operation; }
    // A member has completed. The last one frees the slots.
    void leave(std::int32_t index) {
        Meeting& meeting = of(index);
        if (--meeting.open > 0) return;
        free_slots_[meeting.messages].push_back(meeting.first_slot);
        free_meetings_.push_back(index);
        if (meeting.requests.size() != 2 || meeting.sender == any) collectives_.erase(meeting.collective);
    }

    // Returns how many slots there are.
    std::uint32_t slots() const { return slots_; }

  private:
    static constexpr std::uint32_t max_slots = UINT32_MAX / 2;

    struct Meeting {
        std::uint32_t first_slot = 0;
        std::uint32_t messages = 0;
        std::int32_t open = 0;       // members that have not completed
        std::int32_t sender = any;   // of a message
        std::int32_t operation = 0;  // the sender's
        std::vector<std::int32_t> requests;
        std::uint64_t collective = 0;  // its key
    };
    struct Waiting {
        Envelope envelope;
        std::int32_t meeting = 0;
    };
    // Of one receiver, in the order of their starts.
    struct Unmatched {
        std::vector<Waiting> sends;
        std::vector<Waiting> receives;
    };

    Meeting& of(std::int32_t index) { return meetings_[static_cast<std::size_t>(index)]; }
    const Meeting& of(std::int32_t index) const { return meetings_[static_cast<std::size_t>(index)]; }
    static std::uint64_t key_of(std::int32_t communicator, std::uint32_t number) {
        return std::uint64_t{static_cast<std::uint32_t>(communicator)} << 32 | number;
    }
    static bool match(const Envelope& one, const Envelope& other) {
        const auto same = [](std::int32_t a, std::int32_t b) { return a == b || a == any || b == any; };
        return one.context == other.context && same(one.sender, other.sender) && same(one.tag, other.tag);
    }
    std::int32_t begin(std::int32_t members, std::uint32_t messages) {
        if (free_meetings_.empty()) {
            free_meetings_.push_back(static_cast<std::int32_t>(meetings_.size()));
            meetings_.emplace_back();
        }
        const std::int32_t index = free_meetings_.back();
        free_meetings_.pop_back();
        Meeting& meeting = of(index);
        meeting.messages = messages;
        meeting.open = members;
        meeting.sender = any;
        meeting.requests.assign(static_cast<std::size_t>(members), -1);
        std::vector<std::uint32_t>& free = free_slots_[messages];
        if (free.empty()) {
            if (messages > max_slots - slots_)
                throw Error(ErrorCode::unsupported, "too many messages in flight");
            free.push_back(slots_);
            slots_ += messages;
        }
        meeting.first_slot = free.back();
        free.pop_back();
        return index;
    }

    // Removes the first one that matches and returns its meeting; -1 if there is none.
    static std::int32_t take(std::vector<Waiting>& from, const Envelope& envelope) {
        for (auto one = from.begin(); one != from.end(); ++one) {
            if (!match(one->envelope, envelope)) continue;
            const std::int32_t meeting = one->meeting;
            from.erase(one);
            return meeting;
        }
        return -1;
    }

    std::unordered_map<std::uint64_t, std::uint32_t> counts_;      // of collectives, by communicator and rank
    std::unordered_map<std::uint64_t, std::int32_t> collectives_;  // by communicator and number
    std::unordered_map<std::int32_t, Unmatched> unmatched_;        // by receiver
    std::vector<Meeting> meetings_;
    std::vector<std::int32_t> free_meetings_;
    std::map<std::uint32_t, std::vector<std::uint32_t>> free_slots_;  // by the number of messages
    std::uint32_t slots_ = 0;
};

}  // namespace lapwing::simulate
