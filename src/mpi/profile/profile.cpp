#include "mpi/profile/profile.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "base/messages.hpp"
#include "base/settings.hpp"
#include "job/rank_locations.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/job/mpi_job.hpp"
#include "mpi/native/callers.hpp"
#include "mpi/native/guard.hpp"

extern char** environ;

namespace lapwing::profile {
namespace {

// A persistent collective or message, and what each start of it records.
struct Persistent {
    const char* function = nullptr;
    std::shared_ptr<Communicator> communicator;  // which the program may have freed; null: a message
    std::uint64_t bytes = 0;
    std::uint8_t root = 0;
};

// A nonblocking collective or message on its way.
struct Flight {
    Called called;
    std::uint64_t started = 0;
    std::uint64_t inside = 0;               // nanoseconds in completing calls
    const std::uint64_t* thread = nullptr;  // time_in_calls of the thread that started it
    std::uint64_t before = 0;               // what stood there
};

// The messages of one site. Nanoseconds, summed over its calls.
struct Messages {
    std::uint64_t calls = 0;
    std::uint64_t min_bytes = UINT64_MAX;
    std::uint64_t max_bytes = 0;
    std::uint64_t start = 0;  // in the call; of a blocking one, all of it
    std::uint64_t wait = 0;   // in calls that complete a nonblocking one
    std::uint64_t saved = 0;  // of it, what could pass before them, if the message moved then
    std::uint32_t completed_at = 0;
};

// Nanoseconds that the thread has spent in calls of collectives, and in those that complete them.
thread_local std::uint64_t time_in_calls = 0;

// Never destroyed: a thread may still be in a call when the program exits.
struct State {
    RankLocations locations;
    std::unordered_map<MPI_Request, Persistent> persistents;
    std::unordered_map<MPI_Request, Flight> flights;
    std::atomic<std::size_t> flying{0};
    std::map<std::uint32_t, Messages> messages;  // by site
};
State& state = *new State;

// With the mutex held. `started`: when the call that starts the message returned; `inside`: nanoseconds in
// calls that complete it, the last of them at the site `completed_at`; 0: in no call of completion. `away`:
// nanoseconds between these calls.
void add_message(const Called& called, std::uint64_t started, std::uint64_t inside,
                 std::uint32_t completed_at, std::uint64_t away = 0) {
    Messages& messages = state.messages[called.site];
    ++messages.calls;
    messages.min_bytes = std::min(messages.min_bytes, called.bytes);
    messages.max_bytes = std::max(messages.max_bytes, called.bytes);
    messages.start += started - called.began;
    messages.wait += inside;
    if (called.bytes >= large_message) messages.saved += std::min(inside, away);
    if (completed_at != 0) messages.completed_at = completed_at;
}

void take_off(const Called& called, MPI_Request handle, std::uint64_t now) {
    // MPIs have one handle for all requests that are complete from the beginning.
    if (const auto earlier = state.flights.find(handle); earlier != state.flights.end()) {
        const Flight& flight = earlier->second;
        if (flight.called.is_message) add_message(flight.called, flight.started, flight.inside, 0);
    }
    state.flights[handle] = {called, now, 0, &time_in_calls, time_in_calls};
    state.flying = state.flights.size();
}

// A collective from its start to `ended`.
void trace_collective(const Called& called, std::uint64_t ended, std::uint8_t kind) {
    trace::record({.began = called.began,
                   .ended = ended,
                   .bytes = called.bytes,
                   .operation = called.number,
                   .index = called.site,
                   .peer = static_cast<std::int32_t>(called.communicator),
                   .what = trace::What::collective,
                   .kind = kind});
}

// A nonblocking collective that was completed at this site.
void trace_completion(const Flight& flight, std::uint64_t ended, std::uint32_t site) {
    const Called& called = flight.called;
    const std::uint64_t alive = ended - flight.started;
    const std::uint64_t busy =
        flight.thread == &time_in_calls ? time_in_calls - flight.before : flight.inside;
    trace_collective(called, ended, static_cast<std::uint8_t>(called.kind + 1));
    trace::record({.began = flight.started,
                   .ended = flight.started + flight.inside,
                   .bytes = alive > busy ? alive - busy : 0,  // nanoseconds outside of such calls
                   .operation = called.number,
                   .index = site,
                   .peer = static_cast<std::int32_t>(called.communicator),
                   .what = trace::What::call});
}

void write_messages() {
    const std::lock_guard lock(shared_lock());
    for (const auto& [site, messages] : state.messages) {
        add_metadata({{"fact", "messages"},
                      {"site", site},
                      {"completed_at", messages.completed_at},
                      {"calls", messages.calls},
                      {"bytes", {messages.min_bytes, messages.max_bytes}},
                      {"start", messages.start},
                      {"wait", messages.wait},
                      {"saved", messages.saved}});
    }
}

}  // namespace

void begin() {
    Settings settings;
    std::uint64_t capacity = 0;
    try {
        settings = settings_of_job();
        if (settings.trace.empty()) return;
        capacity = trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
    } catch (const std::exception& error) {
        end_job(error.what(), 2);
    }
    MpiJob job(settings);
    if (!open_trace(job, capacity, "profile")) return;
    begin_definitions();
    state.locations = RankLocations(job, {});
    add_clock_metadata(state.locations, "begin");
}

void end() {
    if (!trace::on()) return;
    write_messages();
    add_clock_metadata(state.locations, "end");
    const std::string trouble = trace::close();
    if (!trouble.empty()) print_message("lapwing: a part of the profile is incomplete: {}\n", trouble);
}

Called enter(const CallSite& site, Communicator* on, std::uint64_t bytes, std::uint8_t root) {
    const std::lock_guard lock(shared_lock());
    Called called;
    called.site = site_of(site);
    called.is_message = on == nullptr;
    called.kind = root;
    if (on != nullptr) {
        called.communicator = on->number;
        called.number = on->collectives++;
    }
    called.bytes = bytes;
    called.began = trace::now();
    return called;
}

void remember(const char* function, std::shared_ptr<Communicator> on, std::uint64_t bytes, std::uint8_t root,
              MPI_Request handle) {
    const std::lock_guard lock(shared_lock());
    state.persistents[handle] = {function, std::move(on), bytes, root};
}

void forget(MPI_Request handle) {
    const std::lock_guard lock(shared_lock());
    state.persistents.erase(handle);
}

void leave(const Called& called) {
    const std::uint64_t now = trace::now();
    if (called.is_message) {
        const std::lock_guard lock(shared_lock());
        return add_message(called, now, 0, 0);
    }
    time_in_calls += now - called.began;
    trace_collective(called, now, called.kind);
}

void leave(const Called& called, MPI_Request handle) {
    const std::uint64_t now = trace::now();
    if (!called.is_message) time_in_calls += now - called.began;
    if (handle == MPI_REQUEST_NULL) return;
    const std::lock_guard lock(shared_lock());
    take_off(called, handle, now);
}

Starting::Starting(const void* from, int count, const MPI_Request* handles) {
    if (!trace::on() || handles == nullptr) return;
    for (int i = 0; i < count; ++i) {
        std::unique_lock lock(shared_lock());
        const auto found = state.persistents.find(handles[i]);
        if (found == state.persistents.end()) continue;
        const Persistent one = found->second;
        lock.unlock();
        ours_.emplace_back(handles[i],
                           enter({one.function, from}, one.communicator.get(), one.bytes, one.root));
    }
}

void Starting::done() {
    if (ours_.empty()) return;
    const std::uint64_t now = trace::now();
    if (std::ranges::any_of(ours_, [](const auto& one) { return !one.second.is_message; }))
        time_in_calls += now - ours_.front().second.began;
    const std::lock_guard lock(shared_lock());
    for (const auto& [handle, called] : ours_) take_off(called, handle, now);
}

Completing::Completing(const void* from, int count, const MPI_Request* handles) : from_(from) {
    if (state.flying == 0 || handles == nullptr || count <= 0) return;
    const std::lock_guard lock(shared_lock());
    for (int i = 0; i < count; ++i) {
        const auto flight = state.flights.find(handles[i]);
        if (flight == state.flights.end()) continue;
        ours_.emplace_back(i, handles[i]);
        has_collectives_ = has_collectives_ || !flight->second.called.is_message;
    }
    began_ = trace::now();
}

void Completing::done(const Completed& completed) {
    if (ours_.empty()) return;
    const std::uint64_t ended = trace::now();
    if (has_collectives_) time_in_calls += ended - began_;
    const std::lock_guard lock(shared_lock());
    const std::uint32_t site = site_of({"", from_});
    for (const auto& [place, handle] : ours_) {
        const auto found = state.flights.find(handle);
        if (found == state.flights.end()) continue;
        Flight& flight = found->second;
        flight.inside += (ended - began_) / ours_.size();
        if (!completed.all && std::ranges::find(completed.indices, place) == completed.indices.end())
            continue;
        const Called& called = flight.called;
        if (called.is_message)
            // Equal parts for all requests, as of the time inside.
            add_message(called, flight.started, flight.inside, site,
                        (began_ - flight.started) / ours_.size());
        else
            trace_completion(flight, ended, site);
        state.flights.erase(found);
    }
    state.flying = state.flights.size();
}

}  // namespace lapwing::profile

LAPWING_MPI MPI_Init(int* argc, char*** argv) {
    lapwing::reserve_standard_descriptors();
    lapwing::bind_fortran();
    const int error = NEXT_Init(argc, argv);
    if (error == MPI_SUCCESS) lapwing::profile::begin();
    return error;
}

LAPWING_MPI MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    lapwing::reserve_standard_descriptors();
    lapwing::bind_fortran();
    const int error = NEXT_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS) lapwing::profile::begin();
    return error;
}

LAPWING_MPI MPI_Finalize() {
    lapwing::profile::end();
    return NEXT_Finalize();
}
