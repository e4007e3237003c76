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
#include "mpi/calls/signatures.hpp"
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
    Recorded what;
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
    job.communicator();  // before add_clock_metadata() makes one
    if (!open_trace(job, capacity, "profile")) return;
    begin_definitions();
    state.locations = RankLocations(job.exchange_values(own_location({})), job.rank());
    add_clock_metadata(state.locations, "begin");
}

void end() {
    if (!trace::on()) return;
    write_messages();
    add_clock_metadata(state.locations, "end");
    const std::string trouble = trace::close();
    if (!trouble.empty()) print_message("lapwing: a part of the profile is incomplete: {}\n", trouble);
}

Called enter(const CallSite& site, const Recorded& what) {
    const std::lock_guard lock(shared_lock());
    Called called;
    called.site = site_of(site);
    called.is_message = what.communicator == nullptr;
    called.kind = what.root;
    if (!called.is_message) {
        called.communicator = what.communicator->number;
        called.number = what.communicator->collectives++;
    }
    called.bytes = what.bytes;
    called.began = trace::now();
    return called;
}

void remember(const char* function, Recorded what, MPI_Request handle) {
    const std::lock_guard lock(shared_lock());
    state.persistents[handle] = {function, std::move(what)};
}

void leave(const Called& called, const MPI_Request* made) {
    const std::uint64_t now = trace::now();
    if (!called.is_message) time_in_calls += now - called.began;
    const std::lock_guard lock(shared_lock());
    if (made != nullptr) {
        if (*made != MPI_REQUEST_NULL) take_off(called, *made, now);
    } else if (called.is_message) {
        add_message(called, now, 0, 0);
    } else {
        trace_collective(called, now, called.kind);
    }
}

namespace {

// A call that starts requests, of which some may be persistent ones.
template <typename Native>
int starting(const void* from, int count, const MPI_Request* handles, Native native) {
    if (!trace::on() || handles == nullptr) return native();
    std::vector<std::pair<MPI_Request, Called>> ours;
    for (int i = 0; i < count; ++i) {
        std::unique_lock lock(shared_lock());
        const auto found = state.persistents.find(handles[i]);
        if (found == state.persistents.end()) continue;
        const Persistent one = found->second;
        lock.unlock();
        ours.emplace_back(handles[i], enter({one.function, from}, one.what));
    }
    const int error = native();
    if (error != MPI_SUCCESS || ours.empty()) return error;
    const std::uint64_t now = trace::now();
    if (std::ranges::any_of(ours, [](const auto& one) { return !one.second.is_message; }))
        time_in_calls += now - ours.front().second.began;
    const std::lock_guard lock(shared_lock());
    for (const auto& [handle, called] : ours) take_off(called, handle, now);
    return error;
}

// What a completing call has completed: all of its requests, or those with these indices.
struct Completed {
    bool all = false;
    std::span<const int> indices = {};
};

Completed all(int flag) {
    return {flag != 0};
}

Completed at(const int* indices, int count) {
    if (count == MPI_UNDEFINED || count <= 0 || indices[0] == MPI_UNDEFINED) return {};
    return {false, {indices, static_cast<std::size_t>(count)}};
}

// A call that completes requests, of which some may be in flight here.
template <typename Native, typename GetCompleted>
int completing(const void* from, int count, const MPI_Request* handles, Native native,
               GetCompleted get_completed) {
    if (!trace::on() || state.flying == 0 || handles == nullptr || count <= 0) return native();
    std::vector<std::pair<int, MPI_Request>> ours;  // places in the array
    bool has_collectives = false;
    {
        const std::lock_guard lock(shared_lock());
        for (int i = 0; i < count; ++i) {
            const auto flight = state.flights.find(handles[i]);
            if (flight == state.flights.end()) continue;
            ours.emplace_back(i, handles[i]);
            has_collectives = has_collectives || !flight->second.called.is_message;
        }
    }
    const std::uint64_t began = trace::now();
    const int error = native();
    if (error != MPI_SUCCESS || ours.empty()) return error;
    const std::uint64_t ended = trace::now();
    if (has_collectives) time_in_calls += ended - began;
    const Completed completed = get_completed();
    const std::lock_guard lock(shared_lock());
    const std::uint32_t site = site_of({"", from});
    for (const auto& [place, handle] : ours) {
        const auto found = state.flights.find(handle);
        if (found == state.flights.end()) continue;
        Flight& flight = found->second;
        flight.inside += (ended - began) / ours.size();
        if (!completed.all && std::ranges::find(completed.indices, place) == completed.indices.end())
            continue;
        const Called& called = flight.called;
        if (called.is_message)
            // Equal parts for all requests, as of the time inside.
            add_message(called, flight.started, flight.inside, site, (began - flight.started) / ours.size());
        else
            trace_completion(flight, ended, site);
        state.flights.erase(found);
    }
    state.flying = state.flights.size();
    return error;
}

}  // namespace
}  // namespace lapwing::profile

using namespace lapwing::profile;

LAPWING_MPI MPI_Init(int* argc, char*** argv) {
    lapwing::reserve_standard_descriptors();
    lapwing::bind_fortran();
    const int error = NEXT_Init(argc, argv);
    if (error == MPI_SUCCESS) begin();
    return error;
}

LAPWING_MPI MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    lapwing::reserve_standard_descriptors();
    lapwing::bind_fortran();
    const int error = NEXT_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS) begin();
    return error;
}

LAPWING_MPI MPI_Finalize() {
    end();
    return NEXT_Finalize();
}

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    return starting(__builtin_return_address(0), 1, handle, [&] { return NEXT_Start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    return starting(__builtin_return_address(0), count, handles,
                    [&] { return NEXT_Startall(count, handles); });
}

LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    if (lapwing::trace::on() && handle != nullptr) {
        const std::lock_guard lock(shared_lock());
        state.persistents.erase(*handle);
    }
    return NEXT_Request_free(handle);
}

#define LAPWING_COMPLETES(call, function, parameters, names, number, requests, completed)                \
    LAPWING_MPI function parameters {                                                                    \
        return completing(                                                                               \
            __builtin_return_address(0), number, requests, [&] { return LAPWING_NEXT(function) names; }, \
            [&] { return completed; });                                                                  \
    }
#include "mpi/calls/native_calls.def"
