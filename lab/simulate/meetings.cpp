#include "simulate/meetings.hpp"

#include "base/error.hpp"

namespace lapwing::simulate {
namespace {

constexpr std::uint32_t max_slots = UINT32_MAX / 2;

std::uint64_t key_of(std::int32_t communicator, std::uint32_t number) {
    return std::uint64_t{static_cast<std::uint32_t>(communicator)} << 32 | number;
}

bool match(const Meetings::Envelope& one, const Meetings::Envelope& other) {
    const auto same = [](std::int32_t a, std::int32_t b) {
        return a == b || a == Meetings::any || b == Meetings::any;
    };
    return one.context == other.context && same(one.sender, other.sender) && same(one.tag, other.tag);
}

}  // namespace

std::int32_t Meetings::begin(std::int32_t members, std::uint32_t messages) {
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
        if (messages > max_slots - slots_) throw Error(ErrorCode::unsupported, "too many messages in flight");
        free.push_back(slots_);
        slots_ += messages;
    }
    meeting.first_slot = free.back();
    free.pop_back();
    return index;
}

std::int32_t Meetings::join(std::int32_t communicator, std::int32_t rank, std::int32_t member,
                            std::int32_t members, std::uint32_t messages, std::int32_t request) {
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

// Removes the first one that matches and returns its meeting; -1 if there is none.
std::int32_t Meetings::take(std::vector<Waiting>& from, const Envelope& envelope) {
    for (auto one = from.begin(); one != from.end(); ++one) {
        if (!match(one->envelope, envelope)) continue;
        const std::int32_t meeting = one->meeting;
        from.erase(one);
        return meeting;
    }
    return -1;
}

std::int32_t Meetings::send(const Envelope& envelope, std::int32_t request, std::int32_t operation) {
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

std::int32_t Meetings::receive(const Envelope& envelope, std::int32_t request) {
    Unmatched& unmatched = unmatched_[envelope.receiver];
    std::int32_t index = take(unmatched.sends, envelope);
    if (index < 0) {
        index = begin(2, 1);
        unmatched.receives.push_back({envelope, index});
    }
    of(index).requests[1] = request;
    return index;
}

void Meetings::leave(std::int32_t index) {
    Meeting& meeting = of(index);
    if (--meeting.open > 0) return;
    free_slots_[meeting.messages].push_back(meeting.first_slot);
    free_meetings_.push_back(index);
    if (meeting.requests.size() != 2 || meeting.sender == any) collectives_.erase(meeting.collective);
}

}  // namespace lapwing::simulate
