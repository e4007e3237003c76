// The events of a traced job. Events have a fixed size and are stored in a ring for each thread: memory is
// bounded, and the oldest events are lost. A ring is a mapped file, whose contents outlive the process
// however it ends. Each rank also writes facts, to which events refer by number, as lines of JSON.
//
// All files of a job are in one directory: RANK.THREAD.events and RANK.facts. `lapwing run --trace` makes the
// directory, and makes one timeline of the files when the job has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace lapwing::trace {

enum class What : std::uint8_t {
    call,        // a call of the program, in its thread; kind: a Call
    collective,  // one collective of one rank, from its start to its completion
    task,        // a task of a list that this thread did; kind: a Kind
    seen,        // the moment when this thread found that the kernel had completed a task; kind: a Kind
    chain,       // steps of a chain in the kernel; kind: 1 for sends, 2 for receives
    sleep,       // the sleep of a waiting thread; kind: a WakeUp; index: polls before it; bytes: limit in ns
};
constexpr What last_what = What::sleep;

// What ends a sleep.
enum class WakeUp : std::uint8_t {
    limit,            // its limit has passed
    descriptor,       // a completion of the kernel, or an event of a connection
    doorbell,         // a rank of the same host rang
    progress_thread,  // the progress thread advanced a list
};

enum class Call : std::uint8_t {
    start,
    wait,
    test,
    waitall,
    testall,
    waitany,
    testany,
    waitsome,
    testsome,
    get_status,
    blocking_start,  // the two halves of a blocking call that runs as a list
    blocking_wait,
};

struct Event {
    std::uint64_t began = 0;      // nanoseconds of the steady clock
    std::uint64_t ended = 0;      // the same; equal to `began` if only one moment is known
    std::uint64_t bytes = 0;      // task: of its span, of a wait its count; chain: of all its messages;
                                  // collective: see below
    std::uint32_t operation = 0;  // number of the rank's collective; 0: none
    std::uint32_t index = 0;   // task: in its list; call: how many requests; collective: of its plan's fact;
                               // chain: which of the run
    std::int32_t peer = -1;    // in the group; collective: the number of its group's fact; call that starts
                               // one: which Collective
    std::uint16_t thread = 0;  // that recorded it; set by record()
    What what = What::call;
    std::uint8_t kind = 0;
};
static_assert(sizeof(Event) == 40);
// `bytes` of a collective: in the lower half its channel, which is the same on all ranks; in the upper half
// the number of its starts, if it is persistent.
constexpr std::uint64_t which(std::uint32_t channel, std::uint32_t starts) {
    return std::uint64_t{starts} << 32 | channel;
}

// The header of a ring's file. Events follow at `events_at`; event n has the index n % capacity.
struct Header {
    static constexpr std::uint64_t magic_value = 0x31'65'63'61'72'74'70'6c;  // "lptrace1"
    static constexpr std::size_t events_at = 4096;
    std::uint64_t magic = magic_value;
    std::uint64_t capacity = 0;
    std::atomic<std::uint64_t> written = 0;  // number of events so far, including lost ones
};

constexpr std::uint64_t max_events = std::uint64_t{1} << 28;
constexpr std::uint64_t min_events = 16;

namespace detail {
extern std::atomic<bool> recording;

// The position of a thread in its ring.
struct RingPosition {
    Header* header = nullptr;
    Event* events = nullptr;
    std::uint64_t next = 0;
    std::uint16_t thread = 0;
};
extern constinit thread_local RingPosition position;
void record_first(const Event& event);  // takes a ring if there is one
}  // namespace detail

// Whether events are recorded. Set before the first event; once false again, it stays false.
inline bool on() {
    return detail::recording.load(std::memory_order_relaxed);
}

inline std::uint64_t now() {
    return nanoseconds();
}

// Starts recording, with the last `capacity` events of each thread. Throws Error (system) if files cannot be
// written.
void open(const std::string& directory, int rank, std::uint64_t capacity);
// Stops recording. Returns why facts were lost, such as "FILE: No space left on device", or an empty string.
std::string close();

// Thread-safe. Does not fail: events without a ring are counted.
inline void record(const Event& event) {
    if (!on()) return;
    detail::RingPosition& position = detail::position;
    if (position.header == nullptr) return detail::record_first(event);
    Event& stored = position.events[position.next];
    stored = event;
    stored.thread = position.thread;
    if (++position.next == position.header->capacity) position.next = 0;
    position.header->written.store(position.header->written.load(std::memory_order_relaxed) + 1,
                                   std::memory_order_release);
}
// Adds a fact: a line of JSON without its end. Once a rank's facts exceed some megabytes, more are dropped.
void add_metadata(const std::string& json);

// Parses "100000". Throws Error (invalid_argument) that names the variable.
std::uint64_t parse_capacity(const char* variable, const std::string& value);

}  // namespace lapwing::trace
