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
                      std::uint32_t messages, std::int32_t request);
    // Begin a message, whose member 0 is the sender and whose member 1 is the receiver. `operation` is the
    // sender's.
    std::int32_t send(const Envelope& envelope, std::int32_t request, std::int32_t operation);
    std::int32_t receive(const Envelope& envelope, std::int32_t request);

    std::uint32_t first_slot(std::int32_t index) const { return of(index).first_slot; }
    // Returns the request of a member, or -1 if the member has not started.
    std::int32_t request(std::int32_t index, std::int32_t member) const {
        return of(index).requests[static_cast<std::size_t>(member)];
    }
    // Of a message that the sender has started.
    std::int32_t sender(std::int32_t index) const { return of(index).sender; }
    std::int32_t operation(std::int32_t index) const { return of(index).operation; }
    // A member has completed. The last one frees the slots.
    void leave(std::int32_t index);
    // Returns how many slots there are.
    std::uint32_t slots() const { return slots_; }

  private:
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
    std::int32_t begin(std::int32_t members, std::uint32_t messages);
    static std::int32_t take(std::vector<Waiting>& from, const Envelope& envelope);

    std::unordered_map<std::uint64_t, std::uint32_t> counts_;      // of collectives, by communicator and rank
    std::unordered_map<std::uint64_t, std::int32_t> collectives_;  // by communicator and number
    std::unordered_map<std::int32_t, Unmatched> unmatched_;        // by receiver
    std::vector<Meeting> meetings_;
    std::vector<std::int32_t> free_meetings_;
    std::map<std::uint32_t, std::vector<std::uint32_t>> free_slots_;  // by the number of messages
    std::uint32_t slots_ = 0;
};

}  // namespace lapwing::simulate
