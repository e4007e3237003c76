#include "plan/planner.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "task/checker.hpp"

namespace lapwing {
namespace {

constexpr int most_checked_ranks = 64;

const Engine& choose_engine(const std::string& wanted, const List& list, const Ground& ground) {
    const auto can = [&](const Engine& engine) {
        return engine.available() && engine.stands_on(ground) && engine.supports(list);
    };
    // The engine that was asked for may decline; then the others are tried in their order, as for "auto".
    if (wanted != "auto") {
        const Engine& engine = find_engine(wanted);
        if (can(engine)) return engine;
    }
    for (const Engine* engine : engines()) {
        if (can(*engine)) return *engine;
    }
    throw Error(ErrorCode::unsupported, "no engine can run this list");
}

void prove(const Problem& problem, const Choice& choice) {
    const ListSet set = build_all(problem, choice);
    const auto violations = check(problem, set.lists, {.queue_depth = UINT64_MAX, .violations = 1});
    if (violations.empty()) return;
    throw Error(ErrorCode::internal, fmt::format("{} {} builds wrong lists: {}", name(problem.collective),
                                                 set.algorithm, violations.front().what(set.lists)));
}

}  // namespace

std::size_t Planner::Hash::operator()(const Problem& p) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(p.collective), static_cast<std::uint64_t>(p.root), p.bytes,
          static_cast<std::uint64_t>(p.in_place), static_cast<std::uint64_t>(p.op),
          static_cast<std::uint64_t>(p.type)}) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
    }
    return hash;
}

Plan& Planner::find_or_make(const Problem& problem) {
    const auto found = by_problem_.find(problem);
    if (found != by_problem_.end()) {
        plans_.splice(plans_.begin(), plans_, found->second);
        return plans_.front();
    }
    plans_.push_front(make(problem));
    by_problem_.emplace(problem, plans_.begin());
    tasks_ += plans_.front().tasks;
    evict();
    return plans_.front();
}

Plan Planner::make(const Problem& problem) const {
    Plan plan;
    plan.problem = problem;
    plan.choice = select(problem, options_.wishes).choice;
    if (options_.check && problem.ranks <= most_checked_ranks) prove(problem, plan.choice);
    const List list = build(problem, rank_, plan.choice);
    plan.engine = &choose_engine(options_.engine, list, ground_);
    plan.prepared = plan.engine->prepare(list, ground_);
    plan.tasks = list.tasks.size();
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) plan.bytes_sent += task.source.length;
    }
    return plan;
}

// Forgets the plans that were not used for longest; never the newest, nor one in flight.
void Planner::evict() {
    for (auto plan = std::prev(plans_.end());
         plan != plans_.begin() && (plans_.size() > most_plans || tasks_ > most_tasks);) {
        const auto older = plan--;
        if (older->in_flight > 0) continue;
        tasks_ -= older->tasks;
        by_problem_.erase(older->problem);
        plans_.erase(older);
    }
}

}  // namespace lapwing
