#include "mpi/requests/persistent.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/error.hpp"
#include "mpi/calls/call.hpp"

namespace lapwing {

std::atomic<int> persistent_requests{0};
constinit thread_local KeptForStarts* KeptForStarts::present_ = nullptr;

namespace {

// Of this rank alone; a tag for each request that is there. (This library is loaded before MPI_COMM_NULL is.)
std::optional<MPI_Comm> message_communicator;
auto& free_tags = *new std::vector<int>;  // never destroyed, see request.cpp
int next_tag = 0;

int make_message_communicator() {
    if (message_communicator) return MPI_SUCCESS;
    MPI_Comm made = MPI_COMM_NULL;
    const int error = PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made);
    if (error != MPI_SUCCESS) return error;
    // What fails is told in the name of the collective's communicator.
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    message_communicator = made;
    return MPI_SUCCESS;
}

bool is_predefined(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

// Where the program's calls of a function go: the library's address in memory.
const void* library_of(void* function) {
    Dl_info info{};
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

constexpr std::uint32_t lane_bit(int lane) {
    return std::uint32_t{1} << lane;
}

// Persistent collectives may be started in another order on each rank, so each has connections of its own: a
// lane that is free on all ranks and has descriptors. `lane` is -1 when there is none.
int take_lane(Communicator& group, int* lane) {
    *lane = -1;
    static_assert(Network::kept_lanes == 32, "a bit for each");
    if (!group.engines.connected()) return MPI_SUCCESS;
    std::uint32_t kept = 0;
    bool may_open = false;
    {
        const Entry entry;
        may_open = runtime.network.reserve_descriptors(group.ranks, 1);
        kept = group.lanes_kept | (may_open ? 0 : ~group.lanes_opened);
    }
    std::uint32_t kept_anywhere = 0;
    const int error = PMPI_Allreduce(&kept, &kept_anywhere, 1, MPI_UINT32_T, MPI_BOR, group.communicator);
    const Entry entry;
    if (error == MPI_SUCCESS && ~kept_anywhere != 0) *lane = std::countr_one(kept_anywhere);
    const bool opens = *lane >= 0 && (group.lanes_opened & lane_bit(*lane)) == 0;
    if (may_open && !opens) runtime.network.give_back_descriptors(group.ranks, 1);
    if (*lane >= 0) {
        group.lanes_kept |= lane_bit(*lane);
        group.lanes_opened |= lane_bit(*lane);
    }
    return error;
}

void give_back_lane(Communicator& group, int lane) {
    if (lane >= 0) group.lanes_kept &= ~lane_bit(lane);
}

}  // namespace

Persistence::~Persistence() {
    operands.release();
    for (auto& [theirs, ours] : types) {
        if (ours != theirs) PMPI_Type_free(&ours);
    }
}

KeptForStarts::~KeptForStarts() {
    present_ = nullptr;
    if (persistence == nullptr) return;
    const Entry entry;
    persistence.reset();
}

bool takes_persistent_requests() {
    static const bool all = [] {
        const void* const own = library_of(&next_tag);
        for (const char* name : {"MPI_Start", "MPI_Startall", "MPI_Wait", "MPI_Waitall", "MPI_Waitany",
                                 "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
                                 "MPI_Request_get_status", "MPI_Request_free"}) {
            if (library_of(dlsym(RTLD_DEFAULT, name)) != own) return false;
        }
        return true;
    }();
    return all;
}

MPI_Datatype kept_for_starts(MPI_Datatype type, KeptForStarts& kept) {
    if (type == MPI_DATATYPE_NULL) return type;
    for (const auto& [theirs, ours] : kept.persistence->types) {
        if (theirs == type) return ours;
    }
    if (is_predefined(type)) return type;
    MPI_Datatype ours = MPI_DATATYPE_NULL;
    if (PMPI_Type_dup(type, &ours) != MPI_SUCCESS) return type;
    kept.persistence->types.emplace_back(type, ours);
    return ours;
}

void keep_for_starts(MPI_Op op, MPI_Datatype type, const Layout& layout) {
    KeptForStarts* kept = KeptForStarts::present();
    if (kept == nullptr) return;
    const Entry entry;
    kept->persistence->operands.hold(op, type, layout);
}

Started keep(KeptForStarts& kept, Communicator& group, Problem& problem,
             std::unique_ptr<const Preparation> preparation) {
    if (!fits(problem)) return {Outcome::declined, MPI_SUCCESS, nullptr};
    int error = begin_links(group);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    finish_links(group);
    problem.placement = group.placement;
    int lane = -1;
    error = take_lane(group, &lane);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    const Entry entry;
    Plan* plan = nullptr;
    try {
        plan = &(lane >= 0 ? group.engines.planner() : group.engines.planner_without_connections())
                    .plan(problem);
    } catch (const Error& declined) {
        give_back_lane(group, lane);
        if (declined.code() != ErrorCode::unsupported) throw;
        count_fallback(problem.collective, Fallback::no_plan);
        return {Outcome::declined, MPI_SUCCESS, nullptr};
    }
    if (!plan->engine->needs_connections()) {
        give_back_lane(group, lane);
        lane = -1;
    }
    std::unique_ptr<Persistence> persistence = std::move(kept.persistence);
    error = make_message_communicator();
    if (error == MPI_SUCCESS) {
        if (free_tags.empty()) free_tags.push_back(next_tag++);
        persistence->tag = free_tags.back();
        MPI_Request handle = MPI_REQUEST_NULL;
        error = PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, persistence->tag, *message_communicator, &handle);
        if (error == MPI_SUCCESS) {
            free_tags.pop_back();
            Request& request = add_request(handle);
            persistence->preparation = std::move(preparation);
            persistence->lane = lane;
            const std::uint32_t own = lane >= 0 ? static_cast<std::uint32_t>(lane) : group.next_kept_channel;
            persistence->channel = first_kept_channel + own % first_kept_channel;
            request.persistence = std::move(persistence);
            request.group = &group;
            request.plan = plan;
            request.collective = problem.collective;
            // As long as the program may start it.
            ++plan->in_flight;
            ++group.in_flight;
            if (lane < 0) ++group.next_kept_channel;
            ++persistent_requests;
            return {Outcome::taken, MPI_SUCCESS, &request};
        }
    }
    give_back_lane(group, lane);
    persistence.reset();
    return Started::failed_by(error);
}

int start_again(Request& request) {
    if (request.state != Request::State::idle) return MPI_ERR_REQUEST;
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    request.error = MPI_SUCCESS;
    request.operation = nullptr;
    request.waited = 0;
    request.waiting_since = 0;
    request.operation_number = 0;
    request.buffers = {};
    int error = MPI_SUCCESS;
    request.persistence->preparation->prepare(request, request.buffers, &error);
    if (error == MPI_SUCCESS) {
        try {
            run(request);
        } catch (const Error& failed) {
            error = error_code_of(failed);
        }
    }
    if (error != MPI_SUCCESS) {
        give_back(request);
        return error;
    }
    ++runtime.report.collectives[static_cast<std::size_t>(request.collective)].taken;
    if (runtime.measures) measure_start(request, began);
    return MPI_SUCCESS;
}

void tell_mpi_of_start(Request& request) {
    if (request.persistence->active_in_mpi) return;
    MPI_Request handle = request.handle;
    PMPI_Start(&handle);
    request.persistence->active_in_mpi = true;
}

void tell_mpi_of_completion(Request& request) {
    tell_mpi_of_start(request);
    // A message that is too long is the one way to make a receive fail.
    static const char too_long = 0;
    const int bytes = request.error == MPI_SUCCESS ? 0 : 1;
    MPI_Request sent = MPI_REQUEST_NULL;
    PMPI_Isend(&too_long, bytes, MPI_BYTE, 0, request.persistence->tag, *message_communicator, &sent);
    PMPI_Request_free(&sent);
    request.persistence->active_in_mpi = false;
}

void free_persistent(Request& request) {
    if (request.persistence->active_in_mpi) tell_mpi_of_completion(request);
    MPI_Request handle = request.handle;
    PMPI_Request_free(&handle);
    give_back_lane(*request.group, request.persistence->lane);
    free_tags.push_back(request.persistence->tag);
    request.persistence.reset();
    --request.plan->in_flight;
    --request.group->in_flight;
    --persistent_requests;
}

void free_message_communicator() {
    if (message_communicator) PMPI_Comm_free(&*message_communicator);
    message_communicator.reset();
}

}  // namespace lapwing

using namespace lapwing;

namespace {

Request* find(MPI_Request handle) {
    const Entry entry;
    return find_persistent(handle);
}

int start(MPI_Request* handle) {
    Request* request = find(*handle);
    if (request == nullptr) return PMPI_Start(handle);
    MPI_Comm communicator = MPI_COMM_NULL;
    int error = MPI_SUCCESS;
    {
        const Entry entry;
        communicator = request->group->communicator;
        error = start_again(*request);
    }
    return raise(communicator, error);
}

}  // namespace

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    if (persistent_requests == 0 || handle == nullptr) return PMPI_Start(handle);
    return guarded([&] { return start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    if (persistent_requests == 0 || handles == nullptr) return PMPI_Startall(count, handles);
    return guarded([&]() -> int {
        const auto is_ours = [](MPI_Request handle) { return find(handle) != nullptr; };
        if (count <= 0 || std::none_of(handles, handles + count, is_ours))
            return PMPI_Startall(count, handles);
        for (int i = 0; i < count; ++i) {
            if (const int error = start(&handles[i]); error != MPI_SUCCESS) return error;
        }
        return MPI_SUCCESS;
    });
}

// The standard forbids it for collectives; the MPI would cancel the receive that stands for one.
LAPWING_MPI MPI_Cancel(MPI_Request* handle) {
    if (persistent_requests == 0 || handle == nullptr) return PMPI_Cancel(handle);
    return guarded([&] {
        const Request* request = find(*handle);
        return request == nullptr ? PMPI_Cancel(handle)
                                  : raise(request->group->communicator, MPI_ERR_REQUEST);
    });
}
