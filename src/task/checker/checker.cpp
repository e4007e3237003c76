#include "task/checker.hpp"

#include <fmt/format.h>

#include "task/checker/rules.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace checker {

std::string describe(const List& list, std::size_t task) {
    return fmt::format("task {} ({})", task, print(list.tasks[task]));
}

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
        case Rule::bracketing:
            return "bracketing";
        case Rule::queue_depth:
            return "queue_depth";
        case Rule::chains:
            return "chains";
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
            check_bytes(problem, lists, traffic, order, limits.bracketing, findings);
        }
    };
    check_run();
    check_queue_depth(lists, limits.queue_depth, findings);
    return findings.take();
}

}  // namespace lapwing
