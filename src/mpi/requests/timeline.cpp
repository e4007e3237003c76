#include "mpi/requests/timeline.hpp"

#include <mpi.h>

#include <nlohmann/json.hpp>

#include "mpi/job/metadata.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing::timeline {

namespace {

using Json = nlohmann::ordered_json;

std::uint32_t collectives = 0;  // of this rank, so far
std::uint32_t groups = 0;
std::uint32_t plans = 0;

// The number that the group's ranks have agreed on identifies the group on all ranks.
void add_group(Communicator& group) {
    group.trace_number = ++groups;
    add_metadata({{"fact", "group"},
                  {"number", group.trace_number},
                  {"agreed", group.group->number()},
                  {"rank", group.rank},
                  {"ranks", group.ranks},
                  {"members", group.group->members()}});
}

void add_plan(Plan& plan, int rank) {
    plan.trace_number = ++plans;
    const Problem& problem = plan.problem;
    Json fact = {{"fact", "plan"},
                 {"number", plan.trace_number},
                 {"collective", name(problem.collective)},
                 {"function", mpi_name(problem.collective)},
                 {"algorithm", print(plan.choice)},
                 {"engine", plan.engine->name()},
                 {"tasks", plan.tasks},
                 {"bytes_sent", plan.bytes_sent},
                 {"in_bytes", in_bytes(problem, rank)},
                 {"out_bytes", out_bytes(problem, rank)}};
    if (problem.bytes != 0) fact["bytes"] = problem.bytes;
    if (has_root(problem.collective)) fact["root"] = problem.root;
    add_metadata(fact);
}

}  // namespace

std::uint32_t number(Request& request) {
    std::uint64_t& operation = request.buffers.operation;
    if (operation == 0) operation = ++collectives;
    return static_cast<std::uint32_t>(operation);
}

void starts(Request& request) {
    if (!trace::on()) return;
    number(request);
    if (request.persistent != nullptr) ++request.persistent->starts;
    if (request.group->trace_number == 0) add_group(*request.group);
    if (request.plan->trace_number == 0) add_plan(*request.plan, request.group->rank);
}

void started(Request& request, bool blocking) {
    trace::record(
        {.began = request.began,
         .ended = request.started,
         .operation = number(request),
         .index = 1,
         .peer = static_cast<std::int32_t>(request.collective),
         .what = trace::What::call,
         .kind = static_cast<std::uint8_t>(blocking ? trace::Call::blocking_start : trace::Call::start)});
}

void completed(Request& request, std::uint64_t now) {
    if (!trace::on() || request.plan == nullptr) return;
    const std::uint32_t starts = request.persistent != nullptr ? request.persistent->starts : 0;
    trace::record({.began = request.began,
                   .ended = now,
                   .bytes = trace::which(request.channel, starts),
                   .operation = number(request),
                   .index = request.plan->trace_number,
                   .peer = static_cast<std::int32_t>(request.group->trace_number),
                   .what = trace::What::collective});
}

}  // namespace lapwing::timeline
