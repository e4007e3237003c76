#include "mpi/profile/profile.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "job/rank_locations.hpp"
#include "links/tcp/addresses.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/job/mpi_job.hpp"
#include "mpi/native/callers.hpp"

extern char** environ;

namespace lapwing::profile {
namespace {

using Json = nlohmann::ordered_json;

struct Communicator {
    std::uint32_t trace_number = 0;
    std::uint32_t collectives = 0;  // so far
    int rank = 0;
};

// A persistent collective, and what each start of it records.
struct Persistent {
    const char* function = nullptr;
    std::shared_ptr<Communicator> communicator;  // which the program may have freed
    std::uint64_t bytes = 0;
    Root root;
};

// A nonblocking collective on its way.
struct Flight {
    Called called;
    std::uint64_t started = 0;
    std::uint64_t inside = 0;               // nanoseconds in completing calls
    const std::uint64_t* thread = nullptr;  // time_in_calls of the thread that started it
    std::uint64_t before = 0;               // what stood there
};

// Nanoseconds that the thread has spent in calls of collectives, and in those that complete them.
thread_local std::uint64_t time_in_calls = 0;

// Never destroyed: a thread may still be in a call when the program exits.
struct State {
    std::mutex mutex;
    RankLocations locations;
    int keyval = MPI_KEYVAL_INVALID;
    std::uint32_t communicators = 0;
    std::map<std::vector<int>, std::uint32_t> same_members;
    std::map<std::pair<const void*, std::string_view>, std::uint32_t> sites;
    std::unordered_map<MPI_Request, Persistent> persistents;
    std::unordered_map<MPI_Request, Flight> flights;
    std::atomic<std::size_t> flying{0};
};
State& state = *new State;

// Of the file name of a library.
bool is_mpi(const char* path) {
    std::string_view name = path == nullptr ? "" : path;
    name = name.substr(name.rfind('/') + 1);
    return name.starts_with("libmpi") || name.starts_with("libopen-") || name.starts_with("liblapwing");
}

// The first caller outside of the MPI's own libraries: Fortran's functions call those of C.
const void* outside_of_mpi(const void* from) {
    Dl_info where{};
    if (dladdr(from, &where) == 0 || !is_mpi(where.dli_fname)) return from;
    struct Search {
        const void* found = nullptr;
        bool in_mpi = false;
        int frames = 0;
    } search;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* data) {
            Search& found = *static_cast<Search*>(data);
            const auto* address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
            Dl_info frame{};
            const bool mpi = dladdr(address, &frame) != 0 && is_mpi(frame.dli_fname);
            if (found.in_mpi && !mpi) {
                found.found = address;
                return _URC_END_OF_STACK;
            }
            found.in_mpi = found.in_mpi || mpi;
            return ++found.frames < 32 ? _URC_NO_REASON : _URC_END_OF_STACK;
        },
        &search);
    return search.found != nullptr ? search.found : from;
}

// With the mutex held. Two of a line with the same function are two sites.
std::uint32_t site_of(const char* function, const void* from) {
    from = outside_of_mpi(from);
    const auto [found, added] = state.sites.try_emplace({from, function}, state.sites.size() + 1);
    if (!added) return found->second;
    Dl_info where{};
    void* loaded = nullptr;
    Json fact = {{"fact", "site"}, {"number", found->second}, {"function", function}};
    // Before the return address, which may be of the next line.
    const auto* call = static_cast<const char*>(from) - 1;
    if (dladdr1(call, &where, &loaded, RTLD_DL_LINKMAP) != 0) {
        const std::string_view name = static_cast<const link_map*>(loaded)->l_name;
        char path[4096] = "";
        if (name.empty()) {
            const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
            if (length > 0) path[length] = '\0';
        } else if (realpath(where.dli_fname, path) == nullptr) {
            path[0] = '\0';
        }
        fact["module"] = path;
        fact["offset"] =
            reinterpret_cast<std::uintptr_t>(call) - static_cast<const link_map*>(loaded)->l_addr;
        if (where.dli_sname != nullptr) fact["symbol"] = where.dli_sname;
    }
    add_metadata(fact);
    return found->second;
}

int forget_communicator(MPI_Comm, int, void* value, void*) {
    delete static_cast<std::shared_ptr<Communicator>*>(value);
    return MPI_SUCCESS;
}

std::vector<int> members_of(MPI_Comm communicator) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(communicator, &group);
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> own(static_cast<std::size_t>(size));
    std::vector<int> members(own.size());
    for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
    PMPI_Group_translate_ranks(group, size, own.data(), world, members.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    for (int& member : members) member = member == MPI_UNDEFINED ? -1 : member;
    return members;
}

// With the mutex held.
std::shared_ptr<Communicator> find(MPI_Comm communicator) {
    void* known = nullptr;
    int there = 0;
    PMPI_Comm_get_attr(communicator, state.keyval, &known, &there);
    if (there != 0) return *static_cast<std::shared_ptr<Communicator>*>(known);
    auto made = std::make_shared<Communicator>(Communicator{++state.communicators, 0, 0});
    PMPI_Comm_set_attr(communicator, state.keyval, new std::shared_ptr<Communicator>(made));
    const std::vector<int> members = members_of(communicator);
    int rank = 0;
    int inter = 0;
    PMPI_Comm_rank(communicator, &rank);
    PMPI_Comm_test_inter(communicator, &inter);
    made->rank = rank;
    // Where several have the same ranks they are told apart by the order in which they are used.
    add_metadata({{"fact", "group"},
                  {"number", made->trace_number},
                  {"agreed", ++state.same_members[members]},
                  {"rank", rank},
                  {"ranks", members.size()},
                  {"inter", inter != 0},
                  {"members", members}});
    return made;
}

// With the mutex held.
Called enter_on(Communicator& on, const char* function, const void* from, std::uint64_t bytes, Root root) {
    Called called;
    called.site = site_of(function, from);
    called.communicator = on.trace_number;
    called.number = on.collectives++;
    called.bytes = bytes;
    if (root.role != Role::equal && root.rank == on.rank) called.kind = root.role == Role::gives ? 2 : 4;
    called.began = trace::now();
    return called;
}

// After a completing call. With the mutex held. A persistent request keeps its handle.
bool is_complete(MPI_Request handle, MPI_Request now) {
    if (now == MPI_REQUEST_NULL) return true;
    int complete = 0;
    if (state.persistents.count(handle) > 0) PMPI_Request_get_status(now, &complete, MPI_STATUS_IGNORE);
    return complete != 0;
}

[[noreturn]] void give_up(const std::string& why) {
    fmt::print(stderr, "lapwing: {}\n", why);
    ::usleep(200'000);
    PMPI_Abort(MPI_COMM_WORLD, 2);
    std::abort();
}

void take_off(const Called& called, MPI_Request handle, std::uint64_t now) {
    state.flights[handle] = {called, now, 0, &time_in_calls, time_in_calls};
    state.flying = state.flights.size();
}

}  // namespace

void begin() {
    Settings settings;
    try {
        settings = settings_of_job();
        if (settings.trace.empty()) return;
        const std::uint64_t capacity = trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
        int rank = 0;
        int ranks = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
        trace::open(settings.trace, rank, capacity);
        add_metadata({{"fact", "rank"},
                      {"rank", rank},
                      {"ranks", ranks},
                      {"host", tcp::host_name()},
                      {"process", ::getpid()},
                      {"lapwing", LAPWING_VERSION},
                      {"capacity", capacity}});
    } catch (const std::exception& error) {
        give_up(error.what());
    }
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &state.keyval, nullptr);
    MpiJob job(settings);
    state.locations = RankLocations(job, {});
    add_clock_metadata(state.locations, "begin");
}

void end() {
    if (!trace::on()) return;
    add_clock_metadata(state.locations, "end");
    const std::string trouble = trace::close();
    if (!trouble.empty()) fmt::print(stderr, "lapwing: a part of the profile is incomplete: {}\n", trouble);
}

std::uint64_t bytes_of(std::uint64_t count, MPI_Datatype type) {
    if (count == 0 || type == MPI_DATATYPE_NULL) return 0;
    int size = 0;
    PMPI_Type_size(type, &size);
    return count * static_cast<std::uint64_t>(size > 0 ? size : 0);
}

Called enter(const char* function, const void* from, MPI_Comm communicator, std::uint64_t bytes, Root root) {
    const std::lock_guard lock(state.mutex);
    return enter_on(*find(communicator), function, from, bytes, root);
}

void remember(const char* function, MPI_Comm communicator, std::uint64_t bytes, Root root,
              MPI_Request handle) {
    const std::lock_guard lock(state.mutex);
    state.persistents[handle] = {function, find(communicator), bytes, root};
}

void forget(MPI_Request handle) {
    if (!trace::on()) return;
    const std::lock_guard lock(state.mutex);
    state.persistents.erase(handle);
}

void leave(const Called& called) {
    const std::uint64_t now = trace::now();
    time_in_calls += now - called.began;
    trace::record({.began = called.began,
                   .ended = now,
                   .bytes = called.bytes,
                   .operation = called.number,
                   .index = called.site,
                   .peer = static_cast<std::int32_t>(called.communicator),
                   .what = trace::What::collective,
                   .kind = called.kind});
}

void leave(const Called& called, MPI_Request handle) {
    const std::uint64_t now = trace::now();
    time_in_calls += now - called.began;
    if (handle == MPI_REQUEST_NULL) return;
    const std::lock_guard lock(state.mutex);
    take_off(called, handle, now);
}

Starting::Starting(const void* from, int count, const MPI_Request* handles) {
    if (!trace::on() || handles == nullptr) return;
    const std::lock_guard lock(state.mutex);
    for (int i = 0; i < count; ++i) {
        const auto found = state.persistents.find(handles[i]);
        if (found == state.persistents.end()) continue;
        const Persistent& one = found->second;
        ours_.emplace_back(handles[i], enter_on(*one.communicator, one.function, from, one.bytes, one.root));
    }
}

void Starting::done() {
    if (ours_.empty()) return;
    const std::uint64_t now = trace::now();
    time_in_calls += now - ours_.front().second.began;
    const std::lock_guard lock(state.mutex);
    for (const auto& [handle, called] : ours_) take_off(called, handle, now);
}

Completing::Completing(const void* from, int count, const MPI_Request* handles) : from_(from) {
    if (state.flying == 0 || handles == nullptr || count <= 0) return;
    const std::lock_guard lock(state.mutex);
    for (int i = 0; i < count; ++i) {
        if (state.flights.count(handles[i]) == 0) continue;
        ours_.emplace_back(i, handles[i]);
    }
    began_ = trace::now();
}

void Completing::done(const MPI_Request* now) {
    if (ours_.empty()) return;
    const std::uint64_t ended = trace::now();
    time_in_calls += ended - began_;
    const std::lock_guard lock(state.mutex);
    const std::uint32_t site = site_of("", from_);
    for (const auto& [place, handle] : ours_) {
        const auto found = state.flights.find(handle);
        if (found == state.flights.end()) continue;
        Flight& flight = found->second;
        flight.inside += (ended - began_) / ours_.size();
        if (!is_complete(handle, now[place])) continue;
        const Called& called = flight.called;
        const std::uint64_t alive = ended - flight.started;
        const std::uint64_t busy =
            flight.thread == &time_in_calls ? time_in_calls - flight.before : flight.inside;
        trace::record({.began = called.began,
                       .ended = ended,
                       .bytes = called.bytes,
                       .operation = called.number,
                       .index = called.site,
                       .peer = static_cast<std::int32_t>(called.communicator),
                       .what = trace::What::collective,
                       .kind = static_cast<std::uint8_t>(called.kind + 1)});
        trace::record({.began = flight.started,
                       .ended = flight.started + flight.inside,
                       .bytes = alive > busy ? alive - busy : 0,  // nanoseconds outside of such calls
                       .operation = called.number,
                       .index = site,
                       .peer = static_cast<std::int32_t>(called.communicator),
                       .what = trace::What::call});
        state.flights.erase(found);
    }
    state.flying = state.flights.size();
}

}  // namespace lapwing::profile

LAPWING_MPI MPI_Init(int* argc, char*** argv) {
    lapwing::bind_fortran();
    const int error = NEXT_Init(argc, argv);
    if (error == MPI_SUCCESS) lapwing::profile::begin();
    return error;
}

LAPWING_MPI MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    lapwing::bind_fortran();
    const int error = NEXT_Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS) lapwing::profile::begin();
    return error;
}

LAPWING_MPI MPI_Finalize() {
    lapwing::profile::end();
    return NEXT_Finalize();
}
