#include "watch/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::watch {
namespace {

std::uint64_t hash_of(const std::vector<int>& members) {
    std::uint64_t hash = members.size();
    for (const int member : members) hash = CommunicatorRecord::mix(hash, static_cast<std::uint64_t>(member));
    return hash;
}

// Ends the record of a thread with the thread.
struct ThreadEnd {
    ThreadRecord* record = nullptr;
    ~ThreadEnd() {
        if (record != nullptr) record->used.store(0, std::memory_order_release);
    }
};

}  // namespace

constinit thread_local Journal::Last Journal::last_;
constinit thread_local ThreadRecord* Journal::this_thread_ = nullptr;

ProcessJournal process_journal;
constinit std::atomic<ThreadRecord*> thread_records{nullptr};

ThreadRecord& Journal::add_thread() {
    ThreadRecord* record = thread_records.load(std::memory_order_acquire);
    for (; record != nullptr; record = record->next.load(std::memory_order_acquire)) {
        std::uint64_t unused = 0;
        if (record->used.compare_exchange_strong(unused, 1)) break;
    }
    if (record == nullptr) {
        record = new ThreadRecord;
        record->used.store(1, std::memory_order_relaxed);
        ThreadRecord* next = thread_records.load(std::memory_order_relaxed);
        do {
            record->next.store(next, std::memory_order_relaxed);
        } while (!thread_records.compare_exchange_weak(next, record, std::memory_order_release));
    }
    record->state.fetch_and(~(ThreadRecord::inside | ThreadRecord::writing), std::memory_order_relaxed);
    static thread_local ThreadEnd end;
    end.record = record;
    this_thread_ = record;
    return *record;
}

void Journal::begin(int rank, const Constants& constants) {
    const std::lock_guard lock(mutex_);
    rank_ = rank;
    constants_ = constants;
    host_ = tcp::host_name();
    program_ = program_invocation_short_name;
    begun_.store(true, std::memory_order_release);
}

CommunicatorRecord* Journal::unused_record() {
    for (std::size_t i = 0; i < records_.size();) {
        CommunicatorRecord* const record = records_[i];
        if (record->free_ && record->idle()) {
            records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(i));
            unused_.push_back(record);
        } else {
            ++i;
        }
    }
    if (unused_.empty()) return new CommunicatorRecord;
    CommunicatorRecord* const record = unused_.back();
    unused_.pop_back();
    return record;
}

CommunicatorRecord* Journal::add(std::uint64_t handle, int rank,
                                 std::shared_ptr<const std::vector<int>> members, const std::string& name,
                                 Added added) {
    const std::lock_guard lock(mutex_);
    // The handle of a communicator that was freed by a call that this library has not seen.
    remove_locked(handle);
    CommunicatorRecord& record = *unused_record();
    record.members_hash_ = hash_of(*members);
    Family& family = families_[record.members_hash_];
    if (added == Added::at_creation || family.reserved.empty()) {
        record.ordinal_ = family.made++;
    } else {
        record.ordinal_ = family.reserved.front();
        family.reserved.erase(family.reserved.begin());
    }
    // Many communicators of a program have the same members.
    if (const auto shared = family.members.lock(); shared != nullptr && *shared == *members)
        members = shared;
    else
        family.members = members;
    record.rank_ = rank;
    record.ranks_ = members->size();
    {
        const std::lock_guard kept(record.kept_mutex_);
        record.blocks_.reset();
    }
    record.members_ = std::move(members);
    record.name_ = name;
    record.free_ = false;
    record.base_.store(record.serials_.load(std::memory_order_relaxed), std::memory_order_release);
    record.hash_.store(0, std::memory_order_release);
    record.refused_.store(0, std::memory_order_relaxed);
    record.handle_.store(handle, std::memory_order_release);
    records_.push_back(&record);
    by_handle_[handle] = &record;
    return &record;
}

void Journal::reserve(const std::vector<int>& members) {
    const std::lock_guard lock(mutex_);
    Family& family = families_[hash_of(members)];
    family.reserved.push_back(family.made++);
}

void Journal::add_unrecorded(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    remove_locked(handle);
    by_handle_[handle] = nullptr;
}

void Journal::remove(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    remove_locked(handle);
}

void Journal::remove_locked(std::uint64_t handle) {
    const auto found = by_handle_.find(handle);
    if (found == by_handle_.end()) return;
    if (CommunicatorRecord* const record = found->second) {
        closed_checksum_ += checksum_of(*record);
        if (closed_.size() == max_closed) closed_.erase(closed_.begin());
        closed_.push_back(summary_of(*record));
        record->free_ = true;
        record->handle_.store(0, std::memory_order_release);
    }
    by_handle_.erase(found);
    changes_.fetch_add(1, std::memory_order_release);
}

void Journal::rename(std::uint64_t handle, const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = by_handle_.find(handle);
    if (found != by_handle_.end() && found->second != nullptr) found->second->name_ = name;
}

std::shared_ptr<const std::vector<int>> Journal::members(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = by_handle_.find(handle);
    return found == by_handle_.end() || found->second == nullptr ? nullptr : found->second->members_;
}

CommunicatorRecord* Journal::find_among_all(std::uint64_t handle, bool* known) {
    const std::lock_guard lock(mutex_);
    const auto found = by_handle_.find(handle);
    *known = found != by_handle_.end();
    if (!*known) return nullptr;
    last_ = {handle, found->second, changes_.load(std::memory_order_relaxed)};
    return found->second;
}

void Journal::publish(std::vector<Published> positions) {
    const std::lock_guard lock(positions_mutex_);
    positions_ = std::move(positions);
    published_.store(wanted_.load(std::memory_order_relaxed), std::memory_order_release);
}

bool Journal::anyone_waits() const {
    const ThreadRecord* record = thread_records.load(std::memory_order_acquire);
    for (; record != nullptr; record = record->next.load(std::memory_order_acquire)) {
        if (record->used.load(std::memory_order_acquire) != 0 && record->is_inside() &&
            record->waits.load(std::memory_order_acquire) != 0)
            return true;
    }
    return false;
}

std::vector<Journal::Published> Journal::ask_for_positions(std::uint64_t patience) {
    {
        const std::lock_guard lock(positions_mutex_);
        positions_.clear();
        published_.store(wanted_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        if (!anyone_waits()) return {};
        wanted_.fetch_add(1, std::memory_order_relaxed);
    }
    const std::uint64_t began = nanoseconds();
    while (wants_positions() && nanoseconds() - began < patience)
        std::this_thread::sleep_for(std::chrono::microseconds{200});
    const std::lock_guard lock(positions_mutex_);
    return positions_;
}

}  // namespace lapwing::watch
