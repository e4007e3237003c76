// The journal: what each rank records of its MPI calls, so that a job that hangs can say which rank is in
// which call since when.
//
// Threads of the program write, without locks; any thread may read at any time. Everything that changes is an
// atomic word. The words of a record that belong together are guarded by its state, which changes before the
// first and after the last of them is written. Writers store the words with release order and readers load
// them with acquire order, so a reader that sees a word of a later call also sees that the state has changed.
// No record is ever freed: records are used again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "watch/snapshot.hpp"
#include "watch/symbols.hpp"

namespace lapwing::watch {

using Word = std::atomic<std::uint64_t>;

inline std::uint64_t word_of(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}
// The time of calls, in nanoseconds of CLOCK_MONOTONIC: up to a quarter of a second late, because the watch
// sets it. To read a clock would cost more than all else that a call records. Each call moves it on by one,
// so that calls have an order.
class CallClock {
  public:
    static std::uint64_t next() {
        const std::uint64_t now = now_.load(std::memory_order_relaxed) + 1;
        now_.store(now, std::memory_order_relaxed);
        return now;
    }
    static void set() { now_.store(nanoseconds(), std::memory_order_relaxed); }

  private:
    static inline constinit std::atomic<std::uint64_t> now_{0};
};

// What a call of a collective records. Ranks of a correct program agree on all of it.
struct CallArguments {
    Collective collective = Collective::barrier;
    int root = -1;
    std::uint64_t bytes = 0;
    // Of a reduction: positions in the tables of names of Journal::begin(); 0: none.
    std::uint8_t type = 0;
    std::uint8_t operation = 0;

    // As CallRecord::what.
    std::uint64_t what(Form form) const {
        return static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(form) << 8 |
               std::uint64_t{type} << 16 | std::uint64_t{operation} << 24 |
               std::uint64_t{static_cast<std::uint32_t>(root) + 1} << 32;
    }
    static Form form_of(std::uint64_t what) { return static_cast<Form>(what >> 8 & 0xFF); }
};

// One consistent copy of a record's words.
struct CallWords {
    std::uint64_t state = 0, function = 0, site = 0, began = 0, bytes = 0, what = 0;
    std::uint64_t serial() const { return state >> 2; }
};

// One call of a collective. A record is one line of the cache.
struct alignas(64) CallRecord {
    // Serial number of the call among those that this CommunicatorRecord has recorded << 2 | taken by Lapwing
    // << 1 | complete; 0: no call, or one that is being written.
    Word state;
    Word function;  // const char*: "MPI_Ibcast"
    Word site;      // return address in the program
    Word began;     // nanoseconds of CLOCK_MONOTONIC
    Word bytes;
    Word what;  // collective | form << 8 | type << 16 | operation << 24 | (root + 1) << 32

    static constexpr std::uint64_t complete = 1;
    static constexpr std::uint64_t by_lapwing = 2;

    // A consistent copy.
    CallWords read() const;
    bool in_flight() const {
        const std::uint64_t now = state.load(std::memory_order_relaxed);
        return now != 0 && (now & complete) == 0;
    }
    // Of a record that CommunicatorRecord::persistent() has returned: the program starts the collective, and
    // has seen its completion.
    void start() {
        began.store(CallClock::next(), std::memory_order_release);
        state.store(state.load(std::memory_order_relaxed) & ~complete, std::memory_order_release);
    }
    void stop() { state.store(state.load(std::memory_order_relaxed) | complete, std::memory_order_release); }
};

// What a rank passes to and gets from each rank of a communicator, in its last collective whose blocks differ
// in length.
struct BlocksRecord {
    explicit BlocksRecord(std::size_t ranks) : bytes(2 * ranks) {}
    Word call{0};             // serial number << 2 | no sends << 1 | in place; 0: no call, or being written
    std::vector<Word> bytes;  // sent to each rank, then received from each rank
};

class Journal;

// Communicators with the same members.
struct CommunicatorFamily {
    CommunicatorId digest{};  // of the members
    std::uint64_t made = 0;
    std::weak_ptr<const std::vector<int>> members;
};

// The calls of one communicator. MPI forbids that two threads call collectives of one communicator at the
// same time, so one thread at a time writes.
class CommunicatorRecord {
  public:
    static constexpr std::size_t remembered = 16;

    // The serial number of the next call.
    std::uint64_t next() const { return serials_.load(std::memory_order_relaxed) + 1; }
    // Records the next call, which began at `now`. `what`: CallArguments::what(). `flags`: of
    // CallRecord::state. Returns its serial number.
    [[gnu::always_inline]] std::uint64_t call(std::uint64_t what, std::uint64_t bytes, const char* function,
                                              const void* site, std::uint64_t flags = 0,
                                              std::uint64_t now = CallClock::next()) {
        const std::uint64_t serial = next();
        CallRecord& slot = calls_[serial % remembered];
        if (slot.in_flight()) [[unlikely]]
            keep(slot);
        slot.state.store(0, std::memory_order_relaxed);
        slot.function.store(word_of(function), std::memory_order_release);
        slot.site.store(word_of(site), std::memory_order_release);
        slot.began.store(now, std::memory_order_release);
        slot.bytes.store(bytes, std::memory_order_release);
        slot.what.store(what, std::memory_order_release);
        // The init call of a persistent collective is complete at once, see persistent().
        const bool persistent = CallArguments::form_of(what) == Form::persistent_init;
        const std::uint64_t done = persistent ? CallRecord::complete : 0;
        slot.state.store(serial << 2 | done | flags, std::memory_order_release);
        hash_.store(mix(hash_.load(std::memory_order_relaxed), what + bytes * spread),
                    std::memory_order_relaxed);
        serials_.store(serial, std::memory_order_release);
        return serial;
    }
    // The blocks of a call of a collective with parts. By the thread that records the call, before or after.
    void blocks(std::uint64_t serial, const Problem& problem);
    // By any thread.
    void completed(std::uint64_t serial) {
        if (!mark(serial, CallRecord::complete)) [[unlikely]]
            forget(serial);
    }
    // A record for the starts of the persistent collective that was made by the last call. Lives until
    // release_persistent().
    CallRecord* persistent(std::uint64_t init, bool by_lapwing);
    void release_persistent(std::uint64_t init) { forget(init); }
    // The MPI has refused a call on this rank: the calls of the ranks need not match any more.
    void refused() { refused_.store(1, std::memory_order_relaxed); }

    int rank() const { return rank_; }  // of this process, in the communicator
    const CommunicatorId& id() const { return id_; }
    // Of a communicator that the caller uses: its ranks in MPI_COMM_WORLD.
    std::shared_ptr<const std::vector<int>> members() const { return members_; }
    // Whether id() is the same on all ranks of the communicator, see Creation::everywhere.
    bool has_id_everywhere() const { return has_id_everywhere_; }

    // An odd number without a pattern: 2^64 divided by the golden ratio.
    static constexpr std::uint64_t spread = 0x9E3779B97F4A7C15u;
    static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
        hash = (hash ^ word) * spread;
        return hash ^ hash >> 32;
    }

  private:
    friend class Journal;
    bool mark(std::uint64_t serial, std::uint64_t flag) {
        Word& state = calls_[serial % remembered].state;
        std::uint64_t now = state.load(std::memory_order_relaxed);
        if (now >> 2 != serial) return false;
        // Another thread may record the call that overwrites this one.
        while (!state.compare_exchange_weak(now, now | flag, std::memory_order_release)) {
            if (now >> 2 != serial) return false;
        }
        return true;
    }
    // Moves a call in flight out of the ring.
    void keep(CallRecord& slot);
    CallRecord* keep_locked(const CallWords& words);
    // Sets what is sent and received, if the record still has it. Inside kept_mutex_.
    void read_blocks(std::uint64_t serial, Arguments& arguments) const;
    void forget(std::uint64_t serial) {
        const std::lock_guard lock(kept_mutex_);
        kept_.erase(serial);
    }
    bool idle() {
        if (serials_.load(std::memory_order_relaxed) == base_.load(std::memory_order_relaxed)) return true;
        const std::lock_guard lock(kept_mutex_);
        return kept_.empty() && std::ranges::none_of(calls_, &CallRecord::in_flight);
    }

    Word serials_{0};  // calls so far, with those of earlier communicators that this record had
    Word base_{0};     // serial number before the first call of the present communicator
    Word hash_{0};
    Word refused_{0};
    int rank_ = 0;
    std::size_t ranks_ = 0;
    std::array<CallRecord, remembered> calls_{};

    // Guarded by Journal::mutex_.
    CommunicatorId id_{};
    bool has_id_everywhere_ = false;
    std::uint64_t creations_ = 0;  // see Journal::creation()
    std::uint64_t ordinal_ = 0;    // among the communicators of this rank with these members, for people
    std::string name_;
    std::shared_ptr<const std::vector<int>> members_;
    CommunicatorFamily* family_ = nullptr;

    std::mutex kept_mutex_;
    // Calls in flight that the ring has overwritten, and the starts of persistent collectives.
    std::map<std::uint64_t, std::unique_ptr<CallRecord>> kept_;
    // Made, and removed with the communicator, inside kept_mutex_.
    std::unique_ptr<BlocksRecord> blocks_;
};

// The call of MPI in which a thread of the program is, or its last one. What each call writes is in one line
// of the cache.
template <template <typename> typename Atomic>
struct alignas(64) ThreadRecordOf {
    using Word = Atomic<std::uint64_t>;
    static constexpr std::size_t max_waits = 16;

    Word depth{0};     // calls of MPI that the thread is inside, one inside the other, without those below
    Word state{0};     // number of the call << 2 | being written << 1 | the thread is inside the call
    Word function{0};  // const char*
    Word site{0};
    Word began{0};
    Word communicator{0};  // handle of the MPI, also of a window or a file; 0: none
    Atomic<int> peer{0};   // as the program has passed it
    Atomic<int> tag{0};
    Word waits{0};  // how many of these are set: pairs of a CommunicatorRecord* and a serial number
    std::array<Word, 2 * max_waits> waits_for{};
    Atomic<ThreadRecordOf*> next{nullptr};
    Word used{0};  // 0: the thread has ended

    static constexpr std::uint64_t inside = 1;
    static constexpr std::uint64_t writing = 2;
    static constexpr std::uint64_t next_call = 4;
    // In a call of any function, recorded or not.
    bool is_inside_mpi() const { return depth.load(std::memory_order_acquire) != 0 || is_inside(); }
    bool is_inside() const { return (state.load(std::memory_order_acquire) & inside) != 0; }
};
using ThreadRecord = ThreadRecordOf<std::atomic>;
static_assert(offsetof(ThreadRecord, waits_for) == alignof(ThreadRecord));

// One collective that a thread waits for.
struct CallId {
    CommunicatorRecord* communicator = nullptr;
    std::uint64_t serial = 0;
};

class Journal {
  public:
    // Peers of native calls that are not ranks, as the MPI's header defines them.
    struct Constants {
        int any_source = -1;
        int proc_null = -2;
        int any_tag = -1;
        const char* const* types = nullptr;  // names, by number, see CallArguments
        const char* const* operations = nullptr;
    };
    static constexpr int no_peer = INT_MIN;

    // After MPI_Init. Before this, communicators and collectives are not recorded.
    void begin(int rank, const Constants& constants);
    bool begun() const { return begun_.load(std::memory_order_acquire); }

    // A call that makes communicators of `parent`. All ranks of `parent` make these calls in the same order,
    // so the call's number, the parent's identity and the members identify the communicator that is made.
    struct Creation {
        CommunicatorId parent{};
        std::uint64_t number = 0;
        // Whether the communicator is added on all ranks, before its first collective.
        bool everywhere = true;
    };
    // The present call. Empty if the parent's collectives are not recorded.
    std::optional<Creation> creation(std::uint64_t parent);
    // Adds a communicator of the MPI. `members`: its ranks in MPI_COMM_WORLD.
    CommunicatorRecord* add(std::uint64_t handle, int rank, std::vector<int> members,
                            const Creation& creation);
    // As add(); takes the same time for any number of members.
    CommunicatorRecord* add_duplicate(std::uint64_t handle, const CommunicatorRecord& original,
                                      const Creation& creation);
    // The communicator of this handle has been freed, or its successor is not recorded: an intercommunicator,
    // or one whose creation does not identify it.
    void remove(std::uint64_t handle);
    // A window or a file was made from a communicator: calls on it are those of all ranks of the
    // communicator, as long as the program does not free the communicator.
    void add_made_from(std::uint64_t communicator, std::uint64_t window_or_file);
    void rename(std::uint64_t handle, const std::string& name);

    // The record of a communicator; null if it has none.
    CommunicatorRecord* find(std::uint64_t handle);

    // The record of the calling thread; null before its first call.
    static ThreadRecord* known_thread() { return this_thread_; }
    static ThreadRecord& of_thread() {
        ThreadRecord* const record = this_thread_;
        return record != nullptr ? *record : add_thread();
    }

    // What a thread that waits for lists publishes when a snapshot asks for it.
    struct Published {
        CallId call;
        Position position;
    };
    // Whether a snapshot waits for the positions of lists in flight.
    bool wants_positions() const {
        return wanted_.load(std::memory_order_relaxed) != published_.load(std::memory_order_relaxed);
    }
    void publish(std::vector<Published> positions);

    // Sums up the calls of all communicators, freed ones included: the sum over all ranks of the job is 0 if
    // the ranks of each communicator have made the same calls.
    std::uint64_t checksum();
    // Adds the freed communicators, the last max_closed of them, to a snapshot.
    void add_closed(RankSnapshot& snapshot);
    static constexpr std::size_t max_closed = 256;
    // Snapshots of all ranks have a number for each pair of ranks.
    static constexpr std::size_t max_ranks_with_blocks = 1024;

    // By any thread. Waits for positions for `patience` at most, if a thread of the program is waiting for
    // lists.
    RankSnapshot snapshot(Lines lines = Lines::find, std::uint64_t patience = 20'000'000);

  private:
    using Members = std::shared_ptr<const std::vector<int>>;
    using Records = std::list<CommunicatorRecord>;
    struct Reading;
    struct Closed {                    // a communicator that has been freed
        CommunicatorSnapshot summary;  // see summary_of()
        std::uint64_t ordinal = 0;
        Members members;
    };

    static ThreadRecord& add_thread();
    CommunicatorRecord* add_locked(std::uint64_t handle, int rank, Members members,
                                   CommunicatorFamily& family, const Creation& creation);
    // Moves a record to the end of records_.
    CommunicatorRecord& take_record();
    CommunicatorRecord* find_locked(std::uint64_t handle) const;
    void remove_locked(std::uint64_t handle);
    static std::uint64_t checksum_of(const CommunicatorRecord& record);
    // Without its calls and its members, and without a name that the program has not given.
    static CommunicatorSnapshot summary_of(const CommunicatorRecord& record);
    bool anyone_waits() const;
    std::vector<Published> ask_for_positions(std::uint64_t patience);
    CollectiveCall in_words(const CallWords& words, std::uint64_t now) const;
    void read_communicator(CommunicatorRecord& record, Reading& reading) const;
    void read_thread(const ThreadRecord& thread, Reading& reading) const;

    static constinit thread_local ThreadRecord* this_thread_;

    std::atomic<bool> begun_{false};
    std::atomic<std::uint32_t> wanted_{0};
    std::atomic<std::uint32_t> published_{0};

    int rank_ = 0;
    Constants constants_;
    std::string host_;
    std::string program_;
    std::mutex mutex_;
    Records records_;  // in order of creation
    Records freed_;    // their calls may be in flight
    Records unused_;
    std::unordered_map<std::uint64_t, Records::iterator> by_handle_;
    std::unordered_map<std::uint64_t, std::uint64_t> made_from_;  // handle of the communicator
    std::map<CommunicatorId, CommunicatorFamily> families_;       // by the digest
    std::uint64_t closed_checksum_ = 0;
    std::deque<Closed> closed_;
    std::mutex positions_mutex_;
    std::vector<Published> positions_;
};

// Never destroyed: a thread may be inside MPI when the program exits.
union ProcessJournal {
    ProcessJournal() : journal() {}
    ~ProcessJournal() {}
    Journal journal;
};
extern ProcessJournal process_journal;
inline Journal& journal() {
    return process_journal.journal;
}

// Records that this thread is inside a call of MPI. A call inside another one, as by the program's own
// callbacks, is not recorded.
class InCall {
  public:
    [[gnu::always_inline]] InCall(const char* function, const void* site, std::uint64_t communicator = 0,
                                  int peer = Journal::no_peer, int tag = -1,
                                  std::uint64_t now = CallClock::next()) {
        ThreadRecord& record = Journal::of_thread();
        if (record.is_inside()) return;
        record_ = &record;
        begin(record, function, site, communicator, peer, tag, now);
    }
    ~InCall() { end(); }
    InCall& operator=(InCall&&) = delete;

    // Of a thread that is inside no recorded call. end(record) follows.
    template <template <typename> typename Atomic>
    [[gnu::always_inline]] static void begin(ThreadRecordOf<Atomic>& record, const char* function,
                                             const void* site, std::uint64_t communicator, int peer, int tag,
                                             std::uint64_t now) {
        const std::uint64_t state = record.state.load(std::memory_order_relaxed) + ThreadRecord::next_call;
        record.state.store(state | ThreadRecord::writing, std::memory_order_relaxed);
        record.function.store(word_of(function), std::memory_order_release);
        record.site.store(word_of(site), std::memory_order_release);
        record.began.store(now, std::memory_order_release);
        record.communicator.store(communicator, std::memory_order_release);
        record.peer.store(peer, std::memory_order_release);
        record.tag.store(tag, std::memory_order_release);
        record.waits.store(0, std::memory_order_release);
        record.state.store(state | ThreadRecord::inside, std::memory_order_release);
    }
    template <template <typename> typename Atomic>
    static void end(ThreadRecordOf<Atomic>& record) {
        record.state.store(record.state.load(std::memory_order_relaxed) & ~ThreadRecord::inside,
                           std::memory_order_release);
    }

    // Whether the thread is inside no other call, recorded or not.
    bool is_outermost() const {
        return record_ != nullptr && record_->depth.load(std::memory_order_relaxed) == 0;
    }
    // Before the end of the object.
    void end() {
        if (record_ != nullptr) end(*record_);
        record_ = nullptr;
    }

    // The thread waits for one more collective.
    static void waits_for(const CallId& call) {
        ThreadRecord& record = Journal::of_thread();
        const std::uint64_t waits = record.waits.load(std::memory_order_relaxed);
        if (call.communicator == nullptr || waits >= ThreadRecord::max_waits) return;
        record.waits_for[2 * waits].store(word_of(call.communicator), std::memory_order_release);
        record.waits_for[2 * waits + 1].store(call.serial, std::memory_order_release);
        record.waits.store(waits + 1, std::memory_order_release);
    }

  private:
    ThreadRecord* record_ = nullptr;  // null: of an outer call
};

// All records of threads that were ever made.
extern constinit std::atomic<ThreadRecord*> thread_records;

}  // namespace lapwing::watch
