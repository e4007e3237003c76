#include "mpi/requests/persistent.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/requests/in_flight.hpp"

namespace lapwing {
namespace {

// Where the program's calls of a function go: the library's address in memory.
const void* library_of(void* function) {
    Dl_info info{};
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether all functions that a persistent request may be given to are Lapwing's: a tool that stands before
// them and calls the MPI's would find the request inactive.
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

std::uint32_t kept_channel(std::uint32_t own) {
    return first_kept_channel + own % first_kept_channel;
}

// A plan for the network alone, where all ranks have something left for one more list that keeps its buffers;
// it keeps the next channel, and counts as in flight. `plan` stays null where they have not. Gives back the
// MPI's error code. Outside of Entry.
int plan_for_network(Communicator& group, const Problem& problem, Plan*& plan) {
    Planner* const planner = group.engines.planner_of_kept();
    if (planner == nullptr) return MPI_SUCCESS;
    Plan* found = nullptr;
    int can = 0;
    const std::uint32_t channel = kept_channel(group.next_kept_channel);
    {
        const Entry entry;
        found = &planner->plan(problem);
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

Started make_persistent(Communicator& group, Problem& problem, std::unique_ptr<const Preparation> preparation,
                        std::unique_ptr<Persistence>& persistence) {
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
    try {
        if (lane < 0) error = plan_for_network(group, problem, plan);
        if (error != MPI_SUCCESS) return Started::failed_by(error);
    } catch (const Error& declined) {
        if (declined.code() != ErrorCode::unsupported) throw;  // the other planner says so, too
    }
    const Entry entry;
    const bool keeps = plan != nullptr;
    if (keeps) --plan->in_flight;
    try {
        if (!keeps)
            plan = &(lane >= 0 ? group.engines.planner() : group.engines.planner_without_connections())
                        .plan(problem);
    } catch (const Error& declined) {
        give_back_lane(group, lane);
        if (declined.code() != ErrorCode::unsupported) throw;
        runtime.report.count_fallback(problem.collective, Fallback::no_plan);
        return Started::declined();
    }
    if (plan->engine->needs() != EngineNeeds::connections) {
        give_back_lane(group, lane);
        lane = -1;
    }
    const std::uint32_t channel =
        kept_channel(lane >= 0 ? static_cast<std::uint32_t>(lane) : group.next_kept_channel);
    MPI_Request handle = MPI_REQUEST_NULL;
    error = persistence->handle.make(&handle);
    if (error != MPI_SUCCESS) {
        give_back_lane(group, lane);
        plan->prepared->give_up(channel);
        return Started::failed_by(error);
    }
    Request& request = add_request(handle);
    request.persistence = std::move(persistence);
    Persistence& kept = *request.persistence;
    kept.hold_operator();
    kept.preparation = std::move(preparation);
    kept.lane = lane;
    kept.channel = channel;
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

}  // namespace lapwing
