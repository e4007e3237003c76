#include "mpi/requests/persistent.hpp"

#include <dlfcn.h>

#include <bit>

#include "base/error.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/contents.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {

std::atomic<int> persistent_requests{0};

namespace {

// The address at which the library of a function is loaded.
const void* library_of(void* function) {
    Dl_info info{};
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether the program calls Lapwing's version of each function that takes a persistent request. A tool that
// is loaded before Lapwing and calls the MPI's versions would find the request inactive.
bool takes_persistent_requests() {
    static const bool takes = [] {
        const void* const own = library_of(&persistent_requests);
        for (const char* name : {"MPI_Start", "MPI_Startall", "MPI_Wait", "MPI_Waitall", "MPI_Waitany",
                                 "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
                                 "MPI_Request_get_status", "MPI_Request_free"}) {
            if (library_of(dlsym(RTLD_DEFAULT, name)) != own) return false;
        }
        return true;
    }();
    return takes;
}

constexpr std::uint32_t lane_bit(int lane) {
    return std::uint32_t{1} << lane;
}

// Ranks may start persistent collectives in different orders. Each therefore has connections of its own: a
// lane that is free on all ranks. `lane` is -1 if there is none. Collective. Returns the MPI's error code.
// Outside of Entry.
int take_lane(Communicator& group, int* lane) {
    *lane = -1;
    static_assert(Network::kept_lanes == 32, "lanes are bits of an integer");
    if (!group.engines.connected()) return MPI_SUCCESS;
    std::uint32_t used = 0;
    bool may_open = false;
    {
        const Entry entry;
        may_open = runtime.network.reserve_descriptors(group.ranks, 1);
        used = group.lanes_kept | (may_open ? 0 : ~group.lanes_opened);
    }
    std::uint32_t used_anywhere = 0;
    const int error = PMPI_Allreduce(&used, &used_anywhere, 1, MPI_UINT32_T, MPI_BOR, group.communicator);
    const Entry entry;
    if (error == MPI_SUCCESS && ~used_anywhere != 0) *lane = std::countr_one(used_anywhere);
    const bool opens = *lane >= 0 && (group.lanes_opened & lane_bit(*lane)) == 0;
    if (may_open && !opens) runtime.network.give_back_descriptors(group.ranks, 1);
    if (*lane >= 0) {
        group.lanes_kept |= lane_bit(*lane);
        group.lanes_opened |= lane_bit(*lane);
    }
    return error;
}

void release_lane(Communicator& group, int lane) {
    if (lane >= 0) group.lanes_kept &= ~lane_bit(lane);
}

std::uint32_t persistent_channel(std::uint32_t number) {
    return first_kept_channel + number % first_kept_channel;
}

// Finds a plan on the network's own resources for persistent lists, and reserves them with the group's next
// persistent channel. `plan` stays null unless all ranks have enough left; otherwise it counts as in flight.
// Returns the MPI's error code. Outside of Entry.
int plan_for_network(Communicator& group, const Problem& problem, Plan*& plan) {
    Planner* const planner = group.engines.planner_of_kept();
    if (planner == nullptr) return MPI_SUCCESS;
    Plan* found = nullptr;
    int can = 0;
    const std::uint32_t channel = persistent_channel(group.next_kept_channel);
    {
        const Entry entry;
        try {
            found = &planner->plan(problem);
        } catch (const Error& declined) {
            // All ranks decline alike, and so does the other planner.
            if (declined.code() != ErrorCode::unsupported) throw;
            return MPI_SUCCESS;
        }
        ++found->in_flight;
        if (found->engine->needs() == EngineNeeds::deferred_work && found->prepared->keep(channel)) can = 1;
    }
    int all_can = 0;
    const int error = PMPI_Allreduce(&can, &all_can, 1, MPI_INT, MPI_MIN, group.communicator);
    if (error == MPI_SUCCESS && all_can != 0) {
        plan = found;
        return error;
    }
    const Entry entry;
    if (can != 0) found->prepared->give_up(channel);
    --found->in_flight;
    return error;
}

}  // namespace

Persistent::Persistent(const UserBuffers& given) : buffers(given) {
    const auto replace = [this](MPI_Datatype type) { return duplicate(type); };
    buffers.sent.replace_types(replace);
    buffers.received.replace_types(replace);
    if (buffers.reduction) buffers.reduction->type = replace(buffers.reduction->type);
}

Persistent::~Persistent() {
    reduction.release();
    for (auto& [theirs, ours] : duplicates_) PMPI_Type_free(&ours);
}

// The same type if it is predefined. If the MPI cannot duplicate it, its error shows when the type is used.
MPI_Datatype Persistent::duplicate(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return type;
    for (const auto& [theirs, ours] : duplicates_) {
        if (theirs == type) return ours;
    }
    MPI_Datatype ours = MPI_DATATYPE_NULL;
    if (is_predefined(type) || PMPI_Type_dup(type, &ours) != MPI_SUCCESS) return type;
    duplicates_.emplace_back(type, ours);
    return ours;
}

Started make_persistent(Communicator& group, Problem& problem, const UserBuffers& buffers) {
    if (!takes_persistent_requests()) {
        runtime.report.count_fallback(problem.collective, Fallback::tool);
        return Started::declined();
    }
    if (!fits(problem)) return Started::declined();
    int error = begin_links(group);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    finish_links(group);
    problem.placement = group.placement;
    int lane = -1;
    error = take_lane(group, &lane);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    Plan* plan = nullptr;
    if (lane < 0) error = plan_for_network(group, problem, plan);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    auto persistent = std::make_unique<Persistent>(buffers);
    const Entry entry;
    if (plan == nullptr) {
        Planner& planner = lane >= 0 ? group.engines.planner() : group.engines.planner_without_connections();
        try {
            plan = &planner.plan(problem);
        } catch (const Error& declined) {
            release_lane(group, lane);
            if (declined.code() != ErrorCode::unsupported) throw;
            runtime.report.count_fallback(problem.collective, Fallback::no_plan);
            return Started::declined();
        }
        // In flight as long as the program may start it.
        ++plan->in_flight;
    }
    if (plan->engine->needs() != EngineNeeds::connections) {
        release_lane(group, lane);
        lane = -1;
    }
    persistent->lane = lane;
    persistent->channel =
        persistent_channel(lane >= 0 ? static_cast<std::uint32_t>(lane) : group.next_kept_channel);
    MPI_Request handle = MPI_REQUEST_NULL;
    error = persistent->handle.make(&handle);
    if (error != MPI_SUCCESS) {
        release_lane(group, lane);
        plan->prepared->give_up(persistent->channel);
        --plan->in_flight;
        return Started::failed_by(error);
    }
    if (buffers.reduction) persistent->reduction.hold(*persistent->buffers.reduction);
    Request& request = request_table.add(handle);
    request.persistent = std::move(persistent);
    request.group = &group;
    request.plan = plan;
    request.collective = problem.collective;
    ++group.in_flight;
    if (lane < 0) ++group.next_kept_channel;
    ++persistent_requests;
    return {Outcome::taken, MPI_SUCCESS, &request};
}

void free_persistent(Request& request) {
    Persistent& persistent = *request.persistent;
    persistent.handle.free(request.handle, request.error);
    release_lane(*request.group, persistent.lane);
    request.plan->prepared->give_up(persistent.channel);
    request.persistent.reset();
    --request.plan->in_flight;
    --request.group->in_flight;
    --persistent_requests;
}

}  // namespace lapwing
