#include "task/checker.hpp"

#include <fmt/format.h>

#include "task/checker/rules.hpp"
#include "task/lowering.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace checker {

std::string describe(const List& list, std::size_t task) {
    return fmt::format("task {} ({})", task, print(list.tasks[task]));
}

namespace {

// Rule queue_depth: every queue of the lowered list fits the engine's.
void check_queue_depth(std::span<const List> lists, std::uint64_t limit, Findings& findings) {
    for (std::size_t index = 0; index < lists.size() && !findings.full(); ++index) {
        // No queue gets more than one entry from a task.
        if (lists[index].tasks.size() <= limit) continue;
        const Queues queues = lower(lists[index]);
        const int rank = static_cast<int>(index);
        const auto check = [&](std::uint64_t depth, const std::string& which) {
            if (depth <= limit) return;
            findings.add(Rule::queue_depth, rank, std::nullopt,
                         fmt::format("its {} has {} tasks, the engine's holds {}", which, depth, limit));
        };
        check(queues.management.size(), "management queue");
        for (const PeerQueues& peer : queues.peers) {
            check(peer.send.size(), fmt::format("send queue to rank {}", peer.peer));
            check(peer.receive.size(), fmt::format("receive queue from rank {}", peer.peer));
        }
    }
}

}  // namespace
}  // namespace checker

const char* name(Rule rule) {
    switch (rule) {
        case Rule::form:
            return "form";
        case Rule::matching:
            return "matching";
        case Rule::deadlock:
            return "deadlock";
        case Rule::hazard:
            return "hazard";
        case Rule::provenance:
            return "provenance";
        case Rule::queue_depth:
            return "queue_depth";
    }
    return "unknown";
}

std::string Violation::what(std::span<const List> lists) const {
    const auto index = static_cast<std::size_t>(rank);
    if (!task || index >= lists.size() || *task >= lists[index].tasks.size()) {
        return fmt::format("{}: rank {}: {}", name(rule), rank, why);
    }
    return fmt::format("{}: rank {}, {}: {}", name(rule), rank, checker::describe(lists[index], *task), why);
}

std::vector<Violation> check(const Problem& problem, std::span<const List> lists, const CheckLimits& limits) {
    using namespace checker;
    validate(problem);
    Findings findings(limits.violations);
    check_form(problem, lists, findings);
    if (!findings.none()) return findings.take();  // the other rules rely on the form

    const auto check_run = [&] {
        const Traffic traffic(lists);
        check_matching(lists, traffic, findings);
        if (!findings.none()) return;
        const std::vector<Burst> order = check_deadlock(lists, traffic, findings);
        if (!findings.none()) return;
        check_hazard(lists, traffic, findings);
        if (!findings.none()) return;
        if (problem.collective == Collective::barrier) {
            check_arrival(lists, traffic, order, findings);
        } else {
            check_bytes(problem, lists, traffic, order, findings);
        }
    };
    check_run();
    check_queue_depth(lists, limits.queue_depth, findings);
    return findings.take();
}

}  // namespace lapwing
