// What the journal says of whole communicators.
#include <fmt/format.h>

#include <algorithm>

#include "watch/calls.hpp"
#include "watch/journal.hpp"

namespace lapwing::watch {

// The rank that is first in the communicator subtracts what all others add.
std::uint64_t Journal::checksum_of(const CommunicatorRecord& record) {
    const std::uint64_t calls =
        record.serials_.load(std::memory_order_acquire) - record.base_.load(std::memory_order_acquire);
    std::uint64_t hash = CommunicatorRecord::mix(record.members_hash_, record.ordinal_);
    hash = CommunicatorRecord::mix(hash, calls);
    hash = CommunicatorRecord::mix(hash, record.hash_.load(std::memory_order_acquire));
    const auto others = static_cast<std::uint64_t>(record.members_->size()) - 1;
    return record.rank_ == 0 ? std::uint64_t{0} - hash * others : hash;
}

CommunicatorSnapshot Journal::summary_of(const CommunicatorRecord& record) {
    CommunicatorSnapshot summary;
    summary.members_hash = record.members_hash_;
    summary.ordinal = record.ordinal_;
    summary.members = runs_of(*record.members_);
    summary.name = !record.name_.empty() ? record.name_
                                         : fmt::format("communicator {} of ranks {}", record.ordinal_,
                                                       ranges(*record.members_));
    summary.calls =
        record.serials_.load(std::memory_order_acquire) - record.base_.load(std::memory_order_acquire);
    summary.hash = record.hash_.load(std::memory_order_acquire);
    summary.comparable = record.refused_.load(std::memory_order_relaxed) == 0;
    return summary;
}

std::uint64_t Journal::checksum() {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = closed_checksum_;
    for (const CommunicatorRecord* const record : records_) {
        if (!record->free_) sum += checksum_of(*record);
    }
    return sum;
}

void Journal::add_closed(RankSnapshot& snapshot) {
    const std::lock_guard lock(mutex_);
    for (const CommunicatorSnapshot& closed : closed_) {
        const auto same = [&closed](const CommunicatorSnapshot& other) {
            return other.members_hash == closed.members_hash && other.ordinal == closed.ordinal;
        };
        if (std::ranges::none_of(snapshot.communicators, same)) snapshot.communicators.push_back(closed);
    }
}

}  // namespace lapwing::watch
