#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/floating_point.hpp"
#include "collectives/catalogue.hpp"
#include "plan/memcheck.hpp"
#include "task/bracketing.hpp"
#include "task/checker.hpp"
#include "task/parts.hpp"

namespace lapwing {
namespace {

constexpr int max_checked_ranks = 64;

// What ranks may know a problem as: where one of them may be in place by itself, in both forms, always in
// this order. Of gatherv and scatterv a rank has nothing to show but its own parts.
std::vector<Problem> forms_of(const Problem& problem) {
    std::vector<Problem> forms = {with_parts_of_all(problem)};
    if (!in_place_by_itself(problem.collective) || has_parts(problem.collective)) return forms;
    forms.push_back(forms.front());
    forms.front().in_place = false;
    forms.back().in_place = true;
    return forms;
}

// An engine that took one form and declined the other would leave ranks of one collective to different
// engines.
bool admits(GroupEngine& group, const std::vector<Problem>& forms, const Choice& choice, const ListUse& use) {
    return std::all_of(forms.begin(), forms.end(), [&](const Problem& form) {
        return group.admit(
            form, [&](int rank) { return build(form, rank, choice); }, use);
    });
}

// All ranks must take the same engine. The lists of an algorithm have one form on all ranks; those of a file
// may not.
bool supports(const Engine& engine, const Problem& problem, const List& list, const Choice& choice) {
    if (choice.algorithm->lists == nullptr) return static_cast<bool>(engine.supports(list));
    for (int rank = 0; rank < problem.ranks; ++rank) {
        if (!engine.supports(build(problem, rank, choice))) return false;
    }
    return true;
}

void prove(const Problem& problem, const Choice& choice, bool bracketing) {
    const ListSet set = build_all(problem, choice);
    const auto violations =
        check(problem, set.lists, {.queue_depth = UINT64_MAX, .violations = 1, .bracketing = bracketing});
    if (violations.empty()) return;
    throw Error(ErrorCode::internal, fmt::format("{} {} builds wrong lists: {}", name(problem.collective),
                                                 set.algorithm, violations.front().what(set.lists)));
}

}  // namespace

Planner::Planner(int rank, std::vector<EngineOfGroup> engines, const PlanOptions& options)
    : rank_(rank), options_(options) {
    for (EngineOfGroup& row : engines) engines_.push_back({std::move(row), nullptr});
}

std::size_t Planner::Hash::operator()(const Key& key) const {
    const Problem& p = key.problem;
    std::uint64_t hash = 0;
    const auto add = [&hash](std::uint64_t value) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
    };
    add(static_cast<std::uint64_t>(p.collective) | static_cast<std::uint64_t>(p.op) << 8 |
        static_cast<std::uint64_t>(p.type) << 16 | static_cast<std::uint64_t>(p.in_place) << 24 |
        static_cast<std::uint64_t>(p.ordered) << 25 | static_cast<std::uint64_t>(key.starts) << 26);
    add(static_cast<std::uint64_t>(p.root));
    add(p.bytes);
    add(p.element);
    if (p.placement != nullptr) add(p.placement->hash());
    for (const Parts& parts : p.parts) {
        for (const std::vector<Part>* row : {&parts.sends, &parts.receives}) {
            add(row->size());
            for (const Part& part : *row) {
                add(static_cast<std::uint64_t>(part.peer));
                add(part.offset);
                add(part.bytes);
            }
        }
    }
    return hash;
}

Plan& Planner::find_or_make(const Key& key) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
        plans_.splice(plans_.begin(), plans_, found->second);
        return plans_.front();
    }
    const DefaultFloatingPoint default_floating_point;
    plans_.push_front(make(key));
    by_key_.emplace(key, plans_.begin());
    tasks_ += plans_.front().tasks;
    evict();
    return plans_.front();
}

bool Planner::needs_agreement(const Plan& plan) {
    return std::any_of(engines_.begin(), engines_.end(), [&](Candidate& candidate) {
        return candidate.row.engine == plan.engine && open(candidate).needs_agreement();
    });
}

GroupEngine& Planner::open(Candidate& candidate) {
    if (candidate.opened == nullptr) candidate.opened = candidate.row.open();
    return *candidate.opened;
}

Planner::Candidate& Planner::choose_engine(const Problem& problem, Starts starts, const List& list,
                                           const Choice& choice, const ListUse& use) {
    const std::vector<Problem> forms = forms_of(problem);
    for (Candidate& candidate : engines_) {
        if (!supports(*candidate.row.engine, problem, list, choice)) continue;
        GroupEngine& group = open(candidate);
        if (starts == Starts::persistent_alone && group.needs_agreement()) continue;
        if (admits(group, forms, choice, use)) return candidate;
    }
    throw Error(ErrorCode::unsupported, "no engine can run this list");
}

Plan Planner::make(const Key& key) {
    const Problem problem = options_.reproducible ? bracketing::in_rank_order(key.problem) : key.problem;
    Plan plan;
    plan.problem = key.problem;
    plan.starts = key.starts;
    const Guidance guidance{
        options_.tuning.get(), {first_engine().name(), options_.several_hosts}, options_.reproducible};
    const Selection selection = select(problem, options_.requested, guidance);
    plan.choice = selection.choice;
    if (!selection.refused.empty() && options_.warn) {
        options_.warn(fmt::format("{}; {} is used for {} instead", selection.refused, print(selection.choice),
                                  name(problem.collective)));
    }
    // A rank that knows only its own parts cannot build the other ranks' lists.
    const bool all_known =
        !has_parts(problem.collective) || problem.parts.size() == static_cast<std::size_t>(problem.ranks);
    if (options_.check && all_known && problem.ranks <= max_checked_ranks)
        prove(problem, plan.choice, options_.reproducible && bracketing::matters(problem));
    const List list = build(problem, rank_, plan.choice);
    const ListUse use{problem.bytes <= options_.max_bytes_by_memory ? Inside::by_memory : Inside::by_engine,
                      key.starts != Starts::anew};
    Candidate& chosen = choose_engine(problem, key.starts, list, plan.choice, use);
    plan.engine = chosen.row.engine;
    plan.prepared = with_memcheck(chosen.opened->prepare(problem, list, use), list);
    plan.tasks = list.tasks.size();
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) plan.bytes_sent += task.source.length;
    }
    return plan;
}

// Removes the least recently used plans; never the newest, nor one in flight.
void Planner::evict() {
    for (auto plan = std::prev(plans_.end());
         plan != plans_.begin() && (plans_.size() > max_plans || tasks_ > max_tasks);) {
        const auto older = plan--;
        if (older->in_flight > 0) continue;
        tasks_ -= older->tasks;
        by_key_.erase({older->problem, older->starts});
        plans_.erase(older);
    }
}

}  // namespace lapwing
