// What the journal reports: snapshots, single calls, and sums over communicators.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "watch/calls.hpp"
#include "watch/journal.hpp"

namespace lapwing::watch {
namespace {

// Adds what summary_of() leaves out. `ordinal`: for a name, if the program has given none.
void show_members(CommunicatorSnapshot& communicator, const std::vector<int>& members,
                  std::uint64_t ordinal) {
    communicator.members = runs_of(members);
    if (communicator.name.empty())
        communicator.name = fmt::format("communicator {} of ranks {}", ordinal,
                                        ranges(ranks_of(communicator.members, INT_MAX)));
}

// A pointer of this process: to a text, or to code.
const char* pointer_of(std::uint64_t word) {
    return reinterpret_cast<const char*>(static_cast<std::uintptr_t>(word));
}

struct ThreadWords {
    std::uint64_t state = 0, function = 0, site = 0, began = 0, communicator = 0;
    int peer = 0, tag = 0;
    std::vector<CallId> waits_for;
    bool inside() const { return (state & ThreadRecord::inside) != 0; }
};
ThreadWords read(const ThreadRecord& record) {
    constexpr auto order = std::memory_order_acquire;
    for (;;) {
        ThreadWords words{record.state.load(order),        record.function.load(order),
                          record.site.load(order),         record.began.load(order),
                          record.communicator.load(order), record.peer.load(order),
                          record.tag.load(order),          {}};
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

std::uint64_t since(std::uint64_t now, std::uint64_t then) {
    return now > then ? now - then : 0;
}

const char* name_in(const char* const* table, std::uint64_t number) {
    return table == nullptr || number == 0 ? "" : table[number];
}

// Finding a line may take long: not while a lock is held.
void find_lines(RankSnapshot& snapshot) {
    SourceLines lines;
    std::unordered_map<std::uint64_t, std::string> known;
    const auto find = [&](auto& call) {
        const auto [found, added] = known.try_emplace(call.site);
        if (added) found->second = lines.before(pointer_of(call.site));
        call.where = found->second;
    };
    for (CommunicatorSnapshot& one : snapshot.communicators) std::ranges::for_each(one.recent, find);
    std::ranges::for_each(snapshot.current, find);
    find(snapshot.last);
}

}  // namespace

// A snapshot while it is made.
struct Journal::Reading {
    RankSnapshot snapshot;
    std::uint64_t now = 0;
    std::vector<Published> positions;
    std::unordered_map<const CommunicatorRecord*, std::int64_t> indices;
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
    call.form = CallArguments::form_of(words.what);
    call.arguments.collective = static_cast<Collective>(words.what & 0xff);
    call.arguments.root = static_cast<int>(static_cast<std::uint32_t>(words.what >> 32) - 1);
    call.arguments.bytes = words.bytes;
    call.arguments.type = name_in(constants_.types, words.what >> 16 & 0xff);
    call.arguments.operation = name_in(constants_.operations, words.what >> 24 & 0xff);
    call.function = pointer_of(words.function);
    call.site = words.site;
    call.age = since(now, words.began);
    call.by_lapwing = (words.state & CallRecord::by_lapwing) != 0;
    call.in_flight = (words.state & CallRecord::complete) == 0;
    return call;
}

void Journal::read_communicator(CommunicatorRecord& record, Reading& reading) const {
    const std::uint64_t base = record.base_.load(std::memory_order_acquire);
    const std::uint64_t serials = record.serials_.load(std::memory_order_acquire);
    std::map<std::uint64_t, CallWords> calls;
    {
        const std::lock_guard lock(record.kept_mutex_);
        for (const CallRecord& slot : record.calls_) {
            const CallWords words = slot.read();
            if (words.serial() > base) calls.emplace(words.serial(), words);
        }
        for (const auto& [serial, kept] : record.kept_) {
            // The ring has the init call, this record the starts.
            if (calls.contains(serial) || kept->in_flight()) calls[serial] = kept->read();
        }
    }
    reading.indices[&record] = static_cast<std::int64_t>(reading.snapshot.communicators.size());
    CommunicatorSnapshot& shown = reading.snapshot.communicators.emplace_back(summary_of(record));
    show_members(shown, *record.members_, record.ordinal_);
    shown.calls = serials - base;
    for (const auto& [serial, words] : calls) {
        if (words.began > reading.newest.began) reading.newest = words;
        CollectiveCall& call = shown.recent.emplace_back(in_words(words, reading.now));
        if (record.ranks_ <= max_ranks_with_blocks) {
            const std::lock_guard lock(record.kept_mutex_);
            record.read_blocks(serial, call.arguments);
        }
        call.number = serial - base;
        for (const Published& one : reading.positions) {
            if (one.call.communicator == &record && one.call.serial == serial) call.position = one.position;
        }
    }
}

void Journal::read_thread(const ThreadRecord& thread, Reading& reading) const {
    const ThreadWords words = read(thread);
    if (words.function == 0) return;
    CurrentCall call;
    call.function = pointer_of(words.function);
    call.site = words.site;
    call.age = since(reading.now, words.began);
    const auto made = made_from_.find(words.communicator);
    call.communicator =
        reading.index_of(find_locked(made == made_from_.end() ? words.communicator : made->second));
    call.peer = words.peer == no_peer || words.peer == constants_.proc_null ? -1
                : words.peer == constants_.any_source                       ? -2
                                                                            : words.peer;
    call.tag = words.tag == constants_.any_tag ? -1 : words.tag;
    if (!words.inside()) {
        if (words.began < reading.last_began) return;
        // A program that tests in a loop waits, although it is outside its tests most of the time.
        if (auto waits = reading.in_flight(words.waits_for); !waits.empty()) {
            call.communicator = waits.begin()->first;
            call.waits_for = std::move(waits.begin()->second);
        }
        reading.snapshot.last = call;
        reading.last_began = words.began;
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
}

RankSnapshot Journal::snapshot(Lines lines, std::uint64_t patience) {
    Reading reading;
    RankSnapshot& snapshot = reading.snapshot;
    if (!begun()) return snapshot;
    reading.positions = ask_for_positions(patience);
    reading.now = nanoseconds();
    {
        const std::lock_guard lock(mutex_);
        snapshot.rank = rank_;
        snapshot.host = host_;
        snapshot.pid = ::getpid();
        snapshot.program = program_;
        for (CommunicatorRecord& record : records_) read_communicator(record, reading);
        for (CommunicatorRecord& record : freed_)
            if (!record.idle()) read_communicator(record, reading);
        const ThreadRecord* thread = thread_records.load(std::memory_order_acquire);
        for (; thread != nullptr; thread = thread->next.load(std::memory_order_acquire)) {
            if (thread->used.load(std::memory_order_acquire) != 0) read_thread(*thread, reading);
        }
    }
    // The start of a nonblocking collective is recorded with its communicator only.
    if (reading.newest.began > reading.last_began) {
        snapshot.last = {};
        snapshot.last.function = pointer_of(reading.newest.function);
        snapshot.last.age = since(reading.now, reading.newest.began);
        snapshot.last.site = reading.newest.site;
    }
    if (!snapshot.current.empty()) snapshot.last = {};
    if (lines == Lines::find) find_lines(snapshot);
    return snapshot;
}

// The rank that is first in the communicator subtracts what all others add.
std::uint64_t Journal::checksum_of(const CommunicatorRecord& record) {
    const std::uint64_t calls =
        record.serials_.load(std::memory_order_acquire) - record.base_.load(std::memory_order_acquire);
    std::uint64_t hash = CommunicatorRecord::mix(record.id_[0], record.id_[1]);
    hash = CommunicatorRecord::mix(hash, calls);
    hash = CommunicatorRecord::mix(hash, record.hash_.load(std::memory_order_acquire));
    const auto others = static_cast<std::uint64_t>(record.members_->size()) - 1;
    return record.rank_ == 0 ? std::uint64_t{0} - hash * others : hash;
}

CommunicatorSnapshot Journal::summary_of(const CommunicatorRecord& record) {
    CommunicatorSnapshot summary;
    summary.id = record.id_;
    summary.name = record.name_;
    summary.calls =
        record.serials_.load(std::memory_order_acquire) - record.base_.load(std::memory_order_acquire);
    summary.hash = record.hash_.load(std::memory_order_acquire);
    summary.comparable = record.refused_.load(std::memory_order_relaxed) == 0;
    return summary;
}

std::uint64_t Journal::checksum() {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = closed_checksum_;
    for (const CommunicatorRecord& record : records_) sum += checksum_of(record);
    return sum;
}

void Journal::add_closed(RankSnapshot& snapshot) {
    const std::lock_guard lock(mutex_);
    for (const auto& [closed, ordinal, members] : closed_) {
        const auto same = [&id = closed.id](const CommunicatorSnapshot& other) { return other.id == id; };
        if (std::ranges::any_of(snapshot.communicators, same)) continue;
        show_members(snapshot.communicators.emplace_back(closed), *members, ordinal);
    }
}

}  // namespace lapwing::watch
