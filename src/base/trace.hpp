// What a traced run keeps of who did what when: events of fixed size, in a ring for each thread, so that
// memory is bounded and the oldest are the ones that are lost. A ring is a mapped file: what is in it
// outlives the process, however that ends. Beside the rings a rank writes facts, which events refer to by
// number: lines of JSON.
//
// All files of a job stand in one directory: RANK.THREAD.events and RANK.facts. `lapwing run --trace` makes
// it, and makes one timeline of it when the job has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace lapwing::trace {

enum class What : std::uint8_t {
    call,        // a call of the program's, in the thread that made it; kind: a Call
    collective,  // one collective of one rank, from the call that starts it to its completion
    task,        // of a list, done by the thread that records it; kind: a Kind
    seen,   // a task that another has done (the kernel): the moment at which a thread has seen it complete
    chain,  // some steps of a chain while they are in the kernel; kind: 1, of sends; 2, of receives
    sleep,  // a thread that waits sleeps; kind: a WakeUp; index: its unsuccessful looks before; bytes: the
            // limit in nanoseconds
};
constexpr What last_what = What::sleep;

// What ends a sleep.
enum class WakeUp : std::uint8_t {
    limit,            // nothing: its limit has passed
    descriptor,       // the kernel has completed something, or a connection has news
    doorbell,         // a rank of the same host has rung
    progress_thread,  // the progress thread has moved something
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
    std::uint64_t ended = 0;      // the same; equal where only one moment is known
    std::uint64_t bytes = 0;      // task: of its span, of a wait its count; chain: of all its messages;
                                  // collective: see below
    std::uint32_t operation = 0;  // which collective of this rank; 0: none
    std::uint32_t index = 0;   // task: in its list; call: how many requests; collective: of its plan's fact;
                               // chain: which of the run
    std::int32_t peer = -1;    // in the group; collective: the number of its group's fact; call that starts
                               // one: which Collective
    std::uint16_t thread = 0;  // that has recorded it; filled in here
    What what = What::call;
    std::uint8_t kind = 0;
};
static_assert(sizeof(Event) == 40);
// `bytes` of a collective: its channel, which is the same on all ranks, and of a persistent one in the upper
// half, how often it has been started.
constexpr std::uint64_t which(std::uint32_t channel, std::uint32_t starts) {
    return std::uint64_t{starts} << 32 | channel;
}

// How the file of a ring begins. Events follow at `events_at`; event n stands at place n % capacity.
struct Header {
    static constexpr std::uint64_t magic_value = 0x31'65'63'61'72'74'70'6c;  // "lptrace1"
    static constexpr std::size_t events_at = 4096;
    std::uint64_t magic = magic_value;
    std::uint64_t capacity = 0;
    std::atomic<std::uint64_t> written = 0;  // so many so far, the lost ones included
};

constexpr std::uint64_t max_events = std::uint64_t{1} << 28;
constexpr std::uint64_t min_events = 16;

namespace detail {
extern std::atomic<bool> recording;

// Where this thread writes.
struct Place {
    Header* header = nullptr;
    Event* events = nullptr;
    std::uint64_t next = 0;
    std::uint16_t thread = 0;
};
extern constinit thread_local Place place;
void record_first(const Event& event);  // of this thread; or none of it is kept
}  // namespace detail

// Whether events are wanted. Known before anything is recorded; never true again once it is false.
inline bool on() {
    return detail::recording.load(std::memory_order_relaxed);
}

inline std::uint64_t now() {
    return nanoseconds();
}

// From now on events are kept: the last `capacity` of each thread. Throws Error (system) that says why
// nothing can be written.
void open(const std::string& directory, int rank, std::uint64_t capacity);
// Nothing is kept from now on. Says why metadata were lost: "FILE: No space left on device"; empty when none
// were.
std::string close();

// By any thread. Never fails: what finds no room is counted.
inline void record(const Event& event) {
    if (!on()) return;
    detail::Place& place = detail::place;
    if (place.header == nullptr) return detail::record_first(event);
    Event& kept = place.events[place.next];
    kept = event;
    kept.thread = place.thread;
    if (++place.next == place.header->capacity) place.next = 0;
    place.header->written.store(place.header->written.load(std::memory_order_relaxed) + 1,
                                std::memory_order_release);
}
// A line of JSON without its end. Facts are for the rare: beyond some megabytes no more are kept. False then.
bool add_metadata(const std::string& json);

// "100000". Throws Error (invalid_argument) that names the variable.
std::uint64_t parse_capacity(const char* variable, const std::string& value);

}  // namespace lapwing::trace
