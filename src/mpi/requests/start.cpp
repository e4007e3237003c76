#include "mpi/requests/start.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/in_flight.hpp"

namespace lapwing {
namespace {

// Of an idle request; gives back the MPI's error code. Inline: every start of a small collective passes here.
[[gnu::always_inline]] inline int prepare_and_run(Request& request, const Preparation& preparation,
                                                  std::uint64_t began, bool blocking) {
    request.buffers = {};
    int error = MPI_SUCCESS;
    preparation.prepare(request, request.buffers, &error);
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
    ++runtime.report.of(request.collective).taken;
    if (runtime.measures) measure_start(request, began, blocking);
    return MPI_SUCCESS;
}

}  // namespace

bool fits(const Problem& problem) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;
    // No number of ranks needs the division then, which takes longer than all else here.
    if (problem.bytes < std::uint64_t{1} << 31) return true;
    return problem.bytes <= max_bytes / static_cast<std::uint64_t>(problem.ranks);
}

Started start(Communicator& group, Problem& problem, const Preparation& preparation, bool blocking) {
    if (!fits(problem)) return Started::declined();  // for the MPI to refuse
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    int error = begin_group(group);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    problem.placement = group.group->placement();
    const Entry entry;
    Plan* plan = nullptr;
    try {
        if (group.waiting.empty() && open_group(group)) {
            plan = &group.planner().plan(problem);
        } else {
            select(problem, group.options.requested);  // whether there will be one
        }
    } catch (const Error& declined) {
        if (declined.code() != ErrorCode::unsupported) throw;
        runtime.report.count_fallback(problem.collective, Fallback::no_plan);
        return Started::declined();
    }
    Request* request = take_request(&error);
    if (request == nullptr) return Started::failed_by(error);
    request->group = &group;
    request->plan = plan;
    request->collective = problem.collective;
    if (plan == nullptr) request->problem = problem;
    error = prepare_and_run(*request, preparation, began, blocking);
    return error == MPI_SUCCESS ? Started{Outcome::taken, MPI_SUCCESS, request} : Started::failed_by(error);
}

int start_again(Request& request) {
    if (request.state != Request::State::idle) return MPI_ERR_REQUEST;
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    request.reset();
    return prepare_and_run(request, *request.persistence->preparation, began, false);
}

}  // namespace lapwing
