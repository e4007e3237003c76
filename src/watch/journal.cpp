#include "watch/journal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "watch/calls.hpp"
#include "watch/source_lines.hpp"

namespace lapwing::watch {
namespace {

const char* text_of(std::uint64_t word) {
    return reinterpret_cast<const char*>(static_cast<std::uintptr_t>(word));
}
const void* pointer_of(std::uint64_t word) {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(word));
}

std::uint64_t hash_of(const std::vector<int>& members) {
    std::uint64_t hash = members.size();
    for (const int member : members) hash = CommunicatorRecord::mix(hash, static_cast<std::uint64_t>(member));
    return hash;
}

CallWords read(const CallRecord& record) {
    constexpr auto order = std::memory_order_acquire;
    for (;;) {
        CallWords words{record.state.load(order), record.function.load(order), record.site.load(order),
                        record.began.load(order), record.bytes.load(order),    record.what.load(order),
                        record.starts.load(order)};
        const std::uint64_t after = record.state.load(std::memory_order_relaxed);
        if (words.serial() == 0 || after >> 2 == words.serial()) return words;
        std::this_thread::yield();
    }
}

void write(CallRecord& record, const CallWords& words) {
    record.function.store(words.function, std::memory_order_relaxed);
    record.site.store(words.site, std::memory_order_relaxed);
    record.began.store(words.began, std::memory_order_relaxed);
    record.bytes.store(words.bytes, std::memory_order_relaxed);
    record.what.store(words.what, std::memory_order_relaxed);
    record.starts.store(words.starts, std::memory_order_relaxed);
    record.state.store(words.state, std::memory_order_release);
}

struct ThreadWords {
    std::uint64_t state = 0, function = 0, site = 0, began = 0, communicator = 0, partner = 0;
    std::vector<CallId> waits_for;
    bool inside() const { return (state & ThreadRecord::inside) != 0; }
};
ThreadWords read(const ThreadRecord& record) {
    constexpr auto order = std::memory_order_acquire;
    for (;;) {
        ThreadWords words{record.state.load(order),
                          record.function.load(order),
                          record.site.load(order),
                          record.began.load(order),
                          record.communicator.load(order),
                          record.partner.load(order),
                          {}};
        const std::uint64_t waits = record.waits.load(order);
        for (std::size_t i = 0; i < waits; ++i) {
            auto* const communicator = reinterpret_cast<CommunicatorRecord*>(
                static_cast<std::uintptr_t>(record.waits_for[2 * i].load(order)));
            words.waits_for.push_back({communicator, record.waits_for[2 * i + 1].load(order)});
        }
        const std::uint64_t after = record.state.load(std::memory_order_relaxed);
        if ((words.state & ThreadRecord::writing) == 0 && words.state == after) return words;
        std::this_thread::yield();
    }
}

std::string host_name() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::uint64_t since(std::uint64_t now, std::uint64_t then) {
    return now > then ? now - then : 0;
}

// Ends the record of a thread with the thread.
struct ThreadEnd {
    ThreadRecord* record = nullptr;
    ~ThreadEnd() {
        if (record != nullptr) record->used.store(0, std::memory_order_release);
    }
};

}  // namespace

// The record's own kept_mutex_ guards kept_; program threads take it only in rare cases.
void CommunicatorRecord::keep(CallRecord& slot) {
    const std::lock_guard lock(kept_mutex_);
    CallWords words = read(slot);
    // From now on another thread that completes the call finds it in kept_.
    words.state = slot.state.exchange(0, std::memory_order_acq_rel);
    if ((words.state & CallRecord::complete) != 0) return;
    keep_locked(words);
}

CallRecord* CommunicatorRecord::keep_locked(const CallWords& words) {
    auto& kept = kept_[words.serial()];
    kept = std::make_unique<CallRecord>();
    write(*kept, words);
    return kept.get();
}

CallRecord* CommunicatorRecord::persistent(std::uint64_t init, bool by_lapwing) {
    if (by_lapwing) taken(init);
    const std::lock_guard lock(kept_mutex_);
    return keep_locked(read(calls_[init % remembered]));
}

void CommunicatorRecord::blocks(std::uint64_t serial, const Problem& problem) {
    if (blocks_ == nullptr) {
        const std::lock_guard lock(kept_mutex_);
        blocks_ = std::make_unique<BlocksRecord>(ranks_);
    }
    const Parts& parts = problem.parts_of(rank_);
    blocks_->call.store(0, std::memory_order_relaxed);
    Word* const sent = blocks_->bytes.data();
    Word* const received = sent + ranks_;
    for (Word& bytes : blocks_->bytes) bytes.store(0, std::memory_order_release);
    const auto add = [](Word* to, const std::vector<Part>& all) {
        for (const Part& part : all) {
            Word& bytes = to[part.peer];
            bytes.store(bytes.load(std::memory_order_relaxed) + part.bytes, std::memory_order_release);
        }
    };
    add(sent, parts.sends);
    add(received, parts.receives);
    blocks_->call.store(serial << 2 | (parts.sends.empty() ? 2U : 0U) | (problem.in_place ? 1U : 0U),
                        std::memory_order_release);
}

// A rank that contributes from its result's place, or that has no part in the transfer, leaves out that
// direction.
void CommunicatorRecord::read_blocks(std::uint64_t serial, Arguments& arguments) const {
    if (blocks_ == nullptr) return;
    const std::uint64_t call = blocks_->call.load(std::memory_order_acquire);
    if (call >> 2 != serial) return;
    std::vector<std::uint64_t> sent(ranks_);
    std::vector<std::uint64_t> received(ranks_);
    for (std::size_t i = 0; i < ranks_; ++i) {
        sent[i] = blocks_->bytes[i].load(std::memory_order_acquire);
        received[i] = blocks_->bytes[ranks_ + i].load(std::memory_order_acquire);
    }
    if (blocks_->call.load(std::memory_order_relaxed) != call) return;
    const bool in_place = (call & 1) != 0;
    const bool no_sends = (call & 2) != 0;
    const auto own = static_cast<std::size_t>(rank_);
    // Each rank gets the same block.
    if (arguments.collective == Collective::allgatherv)
        sent.assign(ranks_, in_place ? received[own] : sent[own]);
    // All ranks pass the same counts.
    if (arguments.collective == Collective::reduce_scatter)
        received.assign(ranks_, no_sends ? received[own] : sent[own]);
    // In place, a rank sends nothing to itself.
    sent[own] = received[own] = 0;
    arguments.sent = std::move(sent);
    arguments.received = std::move(received);
}

constinit thread_local Journal::Last Journal::last_;
constinit thread_local ThreadRecord* Journal::this_thread_ = nullptr;

ProcessJournal process_journal;
constinit JournalRoot journal_root;

ThreadRecord& Journal::add_thread() {
    std::atomic<ThreadRecord*>& first = journal_root.threads;
    ThreadRecord* record = first.load(std::memory_order_acquire);
    for (; record != nullptr; record = record->next.load(std::memory_order_acquire)) {
        std::uint64_t unused = 0;
        if (record->used.compare_exchange_strong(unused, 1)) break;
    }
    if (record == nullptr) {
        record = new ThreadRecord;
        record->used.store(1, std::memory_order_relaxed);
        ThreadRecord* next = first.load(std::memory_order_relaxed);
        do {
            record->next.store(next, std::memory_order_relaxed);
        } while (!first.compare_exchange_weak(next, record, std::memory_order_release));
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
    host_ = host_name();
    program_ = program_invocation_short_name;
    journal_root.types = constants.types;
    journal_root.operations = constants.operations;
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
    if (unused_.empty()) {
        auto* const made = new CommunicatorRecord;
        made->next_ = journal_root.communicators.load(std::memory_order_relaxed);
        journal_root.communicators.store(made, std::memory_order_release);
        return made;
    }
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

ReportedCall Journal::report(const CallId& id) {
    CommunicatorRecord& record = *id.communicator;
    const CallWords words = read(record.calls_[id.serial % CommunicatorRecord::remembered]);
    ReportedCall report;
    report.call = in_words(words, words.began);
    report.call.number = id.serial - record.base_.load(std::memory_order_acquire);
    report.member = record.rank_;
    {
        const std::lock_guard lock(record.kept_mutex_);
        record.read_blocks(id.serial, report.call.arguments);
    }
    {
        const std::lock_guard lock(mutex_);
        report.rank = rank_;
        report.members = static_cast<int>(record.members_->size());
        report.members_hash = record.members_hash_;
        report.ordinal = record.ordinal_;
        report.name = summary_of(record).name;
    }
    const std::lock_guard lock(lines_mutex_);
    const auto [found, added] = known_lines_.try_emplace(words.site);
    if (added) {
        if (lines_ == nullptr) lines_ = std::make_unique<SourceLines>();
        found->second = lines_->before(pointer_of(words.site));
    }
    report.call.where = found->second;
    return report;
}

void Journal::publish(std::vector<Published> positions) {
    const std::lock_guard lock(positions_mutex_);
    positions_ = std::move(positions);
    published_.store(wanted_.load(std::memory_order_relaxed), std::memory_order_release);
}

bool Journal::anyone_waits() const {
    const ThreadRecord* record = journal_root.threads.load(std::memory_order_acquire);
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

namespace {

const char* name_in(const char* const* table, std::uint64_t number) {
    return table == nullptr || number == 0 ? "" : table[number];
}

}  // namespace

// A copy of what a snapshot shows, with addresses.
struct Journal::Reading {
    RankSnapshot snapshot;
    std::uint64_t now = 0;
    std::vector<Published> positions;
    std::unordered_map<const CommunicatorRecord*, std::int64_t> indices;
    std::vector<std::vector<std::uint64_t>> call_sites;  // of each communicator's calls
    std::vector<std::uint64_t> current_sites;
    std::uint64_t last_site = 0;
    std::uint64_t last_began = 0;
    CallWords newest;

    std::int64_t index_of(const CommunicatorRecord* record) const {
        const auto found = indices.find(record);
        return found == indices.end() ? -1 : found->second;
    }

    // The calls that are in flight: their numbers, by communicator.
    std::map<std::int64_t, std::vector<std::uint64_t>> in_flight(std::span<const CallId> calls) const {
        std::map<std::int64_t, std::vector<std::uint64_t>> found;
        for (const CallId& one : calls) {
            const std::int64_t index = index_of(one.communicator);
            if (index < 0) continue;
            const std::uint64_t number = one.serial - one.communicator->base_.load(std::memory_order_relaxed);
            const auto& recent = snapshot.communicators[static_cast<std::size_t>(index)].recent;
            const bool runs = std::ranges::any_of(
                recent, [&](const CollectiveCall& it) { return it.number == number && it.in_flight; });
            if (runs) found[index].push_back(number);
        }
        return found;
    }
};

CollectiveCall Journal::in_words(const CallWords& words, std::uint64_t now) const {
    CollectiveCall call;
    call.form = static_cast<Form>(words.what >> 8 & 0xff);
    call.arguments.collective = static_cast<Collective>(words.what & 0xff);
    call.arguments.root = static_cast<int>(static_cast<std::uint32_t>(words.what >> 32) - 1);
    call.arguments.bytes = words.bytes;
    call.arguments.type = name_in(constants_.types, words.what >> 16 & 0xff);
    call.arguments.operation = name_in(constants_.operations, words.what >> 24 & 0xff);
    call.function = text_of(words.function);
    call.age = since(now, words.began);
    call.by_lapwing = (words.state & CallRecord::by_lapwing) != 0;
    call.in_flight = (words.state & CallRecord::complete) == 0;
    call.starts = words.starts;
    return call;
}

void Journal::read_communicator(CommunicatorRecord& record, Reading& reading) const {
    const std::uint64_t base = record.base_.load(std::memory_order_acquire);
    const std::uint64_t serials = record.serials_.load(std::memory_order_acquire);
    std::map<std::uint64_t, CallWords> calls;
    {
        const std::lock_guard lock(record.kept_mutex_);
        for (const CallRecord& slot : record.calls_) {
            const CallWords words = read(slot);
            if (words.serial() > base) calls.emplace(words.serial(), words);
        }
        for (const auto& [serial, kept] : record.kept_) {
            // The ring has the init call, this record the starts.
            if (calls.contains(serial) || kept->in_flight()) calls[serial] = read(*kept);
        }
    }
    reading.indices[&record] = static_cast<std::int64_t>(reading.snapshot.communicators.size());
    CommunicatorSnapshot& shown = reading.snapshot.communicators.emplace_back(summary_of(record));
    shown.calls = serials - base;
    std::vector<std::uint64_t>& sites = reading.call_sites.emplace_back();
    for (const auto& [serial, words] : calls) {
        if (words.began > reading.newest.began) reading.newest = words;
        CollectiveCall& call = shown.recent.emplace_back(in_words(words, reading.now));
        if (record.ranks_ <= max_ranks_with_blocks) {
            const std::lock_guard lock(record.kept_mutex_);
            record.read_blocks(serial, call.arguments);
        }
        call.number = serial - base;
        sites.push_back(words.site);
        for (const Published& one : reading.positions) {
            if (one.call.communicator == &record && one.call.serial == serial) call.position = one.position;
        }
    }
}

void Journal::read_thread(const ThreadRecord& thread, Reading& reading) const {
    const ThreadWords words = read(thread);
    if (words.function == 0) return;
    CurrentCall call;
    call.function = text_of(words.function);
    call.age = since(reading.now, words.began);
    const auto by_handle = by_handle_.find(words.communicator);
    if (words.communicator != 0 && by_handle != by_handle_.end())
        call.communicator = reading.index_of(by_handle->second);
    const auto peer = static_cast<int>(static_cast<std::uint32_t>(words.partner));
    const auto tag = static_cast<int>(words.partner >> 32);
    call.peer = peer == no_peer || peer == constants_.proc_null ? -1
                : peer == constants_.any_source                 ? -2
                                                                : peer;
    call.tag = tag == constants_.any_tag ? -1 : tag;
    if (!words.inside()) {
        if (words.began < reading.last_began) return;
        // A program that tests in a loop waits, although it is outside its tests most of the time.
        if (auto waits = reading.in_flight(words.waits_for); !waits.empty()) {
            call.communicator = waits.begin()->first;
            call.waits_for = std::move(waits.begin()->second);
        }
        reading.snapshot.last = call;
        reading.last_began = words.began;
        reading.last_site = words.site;
        return;
    }
    // A call that waits for collectives of several communicators is shown once for each of them.
    std::map<std::int64_t, std::vector<std::uint64_t>> waits = reading.in_flight(words.waits_for);
    if (waits.empty()) reading.snapshot.current.push_back(call);
    for (auto& [index, numbers] : waits) {
        CurrentCall& one = reading.snapshot.current.emplace_back(call);
        one.communicator = index;
        one.waits_for = std::move(numbers);
    }
    reading.current_sites.resize(reading.snapshot.current.size(), words.site);
}

// Finding a line may take long: not while a lock is held.
void Journal::find_lines(Reading& reading) {
    SourceLines lines;
    std::unordered_map<std::uint64_t, std::string> known;
    const auto line = [&](std::uint64_t site) -> const std::string& {
        const auto [found, added] = known.try_emplace(site);
        if (added) found->second = lines.before(pointer_of(site));
        return found->second;
    };
    RankSnapshot& snapshot = reading.snapshot;
    for (std::size_t i = 0; i < snapshot.communicators.size(); ++i) {
        std::vector<CollectiveCall>& calls = snapshot.communicators[i].recent;
        for (std::size_t j = 0; j < calls.size(); ++j) calls[j].where = line(reading.call_sites[i][j]);
    }
    for (std::size_t i = 0; i < snapshot.current.size(); ++i)
        snapshot.current[i].where = line(reading.current_sites[i]);
    snapshot.last.where = line(reading.last_site);
}

RankSnapshot Journal::snapshot(std::uint64_t patience) {
    Reading reading;
    RankSnapshot& snapshot = reading.snapshot;
    if (!begun()) return snapshot;
    reading.positions = ask_for_positions(patience);
    reading.now = coarse_nanoseconds();
    {
        const std::lock_guard lock(mutex_);
        snapshot.rank = rank_;
        snapshot.host = host_;
        snapshot.pid = ::getpid();
        snapshot.program = program_;
        for (CommunicatorRecord* const record : records_) {
            if (!record->free_ || !record->idle()) read_communicator(*record, reading);
        }
        const ThreadRecord* thread = journal_root.threads.load(std::memory_order_acquire);
        for (; thread != nullptr; thread = thread->next.load(std::memory_order_acquire)) {
            if (thread->used.load(std::memory_order_acquire) != 0) read_thread(*thread, reading);
        }
    }
    // The start of a nonblocking collective is recorded with its communicator only.
    if (reading.newest.began > reading.last_began) {
        snapshot.last = {};
        snapshot.last.function = text_of(reading.newest.function);
        snapshot.last.age = since(reading.now, reading.newest.began);
        reading.last_site = reading.newest.site;
    }
    if (!snapshot.current.empty()) {
        snapshot.last = {};
        reading.last_site = 0;
    }
    find_lines(reading);
    return snapshot;
}

}  // namespace lapwing::watch
