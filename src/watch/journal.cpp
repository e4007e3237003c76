#include "watch/journal.hpp"

#include <pthread.h>
#include <sodium.h>

#include <span>
#include <thread>
#include <utility>

#include "links/tcp/addresses.hpp"

namespace lapwing::watch {
namespace {

// Equal digests mean equal words: SipHash of 128 bits, which takes 0.1 us where BLAKE2b takes 0.5.
template <typename Word>
CommunicatorId digest(std::span<const Word> words) {
    constexpr unsigned char key[crypto_shorthash_siphashx24_KEYBYTES] = {};
    CommunicatorId id;
    static_assert(sizeof id == crypto_shorthash_siphashx24_BYTES);
    const auto bytes = std::as_bytes(words);
    ::crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(id.data()),
                                  reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), key);
    return id;
}

}  // namespace

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
    record->depth.store(0, std::memory_order_relaxed);
    // Ends the record with the thread, after the thread's own objects, whose destructors may call MPI. A call
    // that comes still later makes a record again. The main thread's lasts until the process ends.
    static const auto end = [] {
        pthread_key_t key{};
        const int error = ::pthread_key_create(&key, [](void* ended) {
            this_thread_ = nullptr;
            static_cast<ThreadRecord*>(ended)->used.store(0, std::memory_order_release);
        });
        // Without a free key, records are not used again.
        return error == 0 ? key : pthread_key_t{PTHREAD_KEYS_MAX};
    }();
    ::pthread_setspecific(end, record);
    this_thread_ = record;
    return *record;
}

void Journal::begin(int rank, const Constants& constants) {
    CallClock::set();
    const std::lock_guard lock(mutex_);
    rank_ = rank;
    constants_ = constants;
    host_ = tcp::host_name();
    program_ = program_invocation_short_name;
    begun_.store(true, std::memory_order_release);
}

CommunicatorRecord& Journal::take_record() {
    for (auto next = freed_.begin(); next != freed_.end();) {
        const auto record = next++;
        if (record->idle()) unused_.splice(unused_.begin(), freed_, record);
    }
    if (unused_.empty()) unused_.emplace_back();
    records_.splice(records_.end(), unused_, unused_.begin());
    return records_.back();
}

std::optional<Journal::Creation> Journal::creation(std::uint64_t parent) {
    const std::lock_guard lock(mutex_);
    CommunicatorRecord* const record = find_locked(parent);
    if (record == nullptr) return std::nullopt;
    return Creation{record->id_, ++record->creations_, record->has_id_everywhere_};
}

CommunicatorRecord* Journal::add(std::uint64_t handle, int rank, std::vector<int> members,
                                 const Creation& creation) {
    const std::lock_guard lock(mutex_);
    const CommunicatorId of_members = digest(std::span<const int>(members));
    CommunicatorFamily& family = families_[of_members];
    family.digest = of_members;
    // Many communicators of a program have the same members.
    Members shared = family.members.lock();
    if (shared == nullptr) shared = std::make_shared<const std::vector<int>>(std::move(members));
    family.members = shared;
    return add_locked(handle, rank, std::move(shared), family, creation);
}

CommunicatorRecord* Journal::add_duplicate(std::uint64_t handle, const CommunicatorRecord& original,
                                           const Creation& creation) {
    const std::lock_guard lock(mutex_);
    return add_locked(handle, original.rank_, original.members_, *original.family_, creation);
}

CommunicatorRecord* Journal::add_locked(std::uint64_t handle, int rank, Members members,
                                        CommunicatorFamily& family, const Creation& creation) {
    // The handle of a communicator that was freed by a call that this library has not seen.
    remove_locked(handle);
    CommunicatorRecord& record = take_record();
    record.id_ = digest(std::span<const std::uint64_t>(std::array{
        creation.parent[0], creation.parent[1], creation.number, family.digest[0], family.digest[1]}));
    record.has_id_everywhere_ = creation.everywhere;
    record.creations_ = 0;
    record.family_ = &family;
    record.ordinal_ = family.made++;
    record.rank_ = rank;
    record.ranks_ = members->size();
    {
        const std::lock_guard kept(record.kept_mutex_);
        record.blocks_.reset();
    }
    record.members_ = std::move(members);
    record.name_.clear();
    record.base_.store(record.serials_.load(std::memory_order_relaxed), std::memory_order_release);
    record.hash_.store(0, std::memory_order_release);
    record.refused_.store(0, std::memory_order_relaxed);
    by_handle_[handle] = std::prev(records_.end());
    return &record;
}

void Journal::remove(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    remove_locked(handle);
}

void Journal::remove_locked(std::uint64_t handle) {
    std::erase_if(made_from_,
                  [&](const auto& made) { return made.first == handle || made.second == handle; });
    const auto found = by_handle_.find(handle);
    if (found == by_handle_.end()) return;
    const CommunicatorRecord& record = *found->second;
    closed_checksum_ += checksum_of(record);
    if (closed_.size() == max_closed) closed_.pop_front();
    closed_.push_back({summary_of(record), record.ordinal_, record.members_});
    freed_.splice(freed_.end(), records_, found->second);
    by_handle_.erase(found);
}

void Journal::add_made_from(std::uint64_t communicator, std::uint64_t window_or_file) {
    const std::lock_guard lock(mutex_);
    made_from_[window_or_file] = communicator;
}

void Journal::rename(std::uint64_t handle, const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (CommunicatorRecord* const record = find_locked(handle)) record->name_ = name;
}

CommunicatorRecord* Journal::find(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    return find_locked(handle);
}

CommunicatorRecord* Journal::find_locked(std::uint64_t handle) const {
    const auto found = by_handle_.find(handle);
    return found == by_handle_.end() ? nullptr : &*found->second;
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

CallWords CallRecord::read() const {
    constexpr auto order = std::memory_order_acquire;
    for (;;) {
        CallWords words{state.load(order), function.load(order), site.load(order),
                        began.load(order), bytes.load(order),    what.load(order)};
        const std::uint64_t after = state.load(std::memory_order_relaxed);
        if (words.serial() == 0 || after >> 2 == words.serial()) return words;
        std::this_thread::yield();
    }
}

// The record's own kept_mutex_ guards kept_; program threads take it only in rare cases.
void CommunicatorRecord::keep(CallRecord& slot) {
    const std::lock_guard lock(kept_mutex_);
    CallWords words = slot.read();
    // From now on another thread that completes the call finds it in kept_.
    words.state = slot.state.exchange(0, std::memory_order_acq_rel);
    if ((words.state & CallRecord::complete) != 0) return;
    keep_locked(words);
}

CallRecord* CommunicatorRecord::keep_locked(const CallWords& words) {
    auto& kept = kept_[words.serial()];
    kept = std::make_unique<CallRecord>();
    kept->function.store(words.function, std::memory_order_relaxed);
    kept->site.store(words.site, std::memory_order_relaxed);
    kept->began.store(words.began, std::memory_order_relaxed);
    kept->bytes.store(words.bytes, std::memory_order_relaxed);
    kept->what.store(words.what, std::memory_order_relaxed);
    kept->state.store(words.state, std::memory_order_release);
    return kept.get();
}

CallRecord* CommunicatorRecord::persistent(std::uint64_t init, bool by_lapwing) {
    if (by_lapwing) mark(init, CallRecord::by_lapwing);
    const std::lock_guard lock(kept_mutex_);
    return keep_locked(calls_[init % remembered].read());
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

}  // namespace lapwing::watch
