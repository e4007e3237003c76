#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "task/checker.hpp"
#include "task/parts.hpp"

namespace lapwing {
namespace {

constexpr int max_checked_ranks = 64;

// The engine that was asked for may decline; then the others are tried in their order, as for "auto".
template <typename Can>
const Engine& first_engine_that(const std::string& wanted, Can can) {
    if (wanted != "auto") {
        const Engine& engine = find_engine(wanted);
        if (can(engine)) return engine;
    }
    for (const Engine* engine : engines()) {
        if (can(*engine)) return *engine;
    }
    throw Error(ErrorCode::unsupported, "no engine can run this list");
}

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
bool admits(GroupEngine& group, const std::vector<Problem>& forms, const Choice& choice) {
    return std::all_of(forms.begin(), forms.end(), [&](const Problem& form) {
        return group.admits(form, [&](int rank) { return build(form, rank, choice); });
    });
}

template <typename Open>
const Engine& choose_engine(const std::string& wanted, const List& list, const Problem& problem,
                            const Choice& choice, const EngineContext& context, Open open) {
    const std::vector<Problem> forms = forms_of(problem);
    return first_engine_that(wanted, [&](const Engine& engine) {
        return engine.fits(context) && engine.supports(list) && admits(open(engine), forms, choice);
    });
}

// The one that will run the list, before there is a list.
const Engine& likely_engine(const std::string& wanted, const EngineContext& context) {
    return first_engine_that(wanted, [&](const Engine& engine) { return engine.fits(context); });
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
    const auto add = [&hash](std::uint64_t value) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
    };
    add(static_cast<std::uint64_t>(p.collective) | static_cast<std::uint64_t>(p.op) << 8 |
        static_cast<std::uint64_t>(p.type) << 16 | static_cast<std::uint64_t>(p.in_place) << 24 |
        static_cast<std::uint64_t>(p.ordered) << 25);
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

const Engine& Planner::first_engine() const {
    return likely_engine(options_.engine, context_);
}

GroupEngine& Planner::open(const Engine& engine) {
    for (const auto& [known, opened] : engines_) {
        if (known == &engine) return *opened;
    }
    return *engines_.emplace_back(&engine, engine.open(context_)).second;
}

Plan Planner::make(const Problem& problem) {
    Plan plan;
    plan.problem = problem;
    const Guidance guidance{options_.tuning.get(), {first_engine().name(), options_.several_hosts}};
    plan.choice = select(problem, options_.requested, guidance).choice;
    // Where a rank knows its own parts only, the others' lists cannot be built here.
    const bool all_known =
        !has_parts(problem.collective) || problem.parts.size() == static_cast<std::size_t>(problem.ranks);
    if (options_.check && all_known && problem.ranks <= max_checked_ranks) prove(problem, plan.choice);
    const List list = build(problem, rank_, plan.choice);
    plan.engine = &choose_engine(options_.engine, list, problem, plan.choice, context_,
                                 [this](const Engine& engine) -> GroupEngine& { return open(engine); });
    const bool by_memory = problem.bytes <= options_.max_bytes_by_memory;
    plan.prepared = open(*plan.engine).prepare(list, by_memory ? Inside::by_memory : Inside::by_engine);
    plan.tasks = list.tasks.size();
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) plan.bytes_sent += task.source.length;
    }
    return plan;
}

// Forgets the plans that were not used for longest; never the newest, nor one in flight.
void Planner::evict() {
    for (auto plan = std::prev(plans_.end());
         plan != plans_.begin() && (plans_.size() > max_plans || tasks_ > max_tasks);) {
        const auto older = plan--;
        if (older->in_flight > 0) continue;
        tasks_ -= older->tasks;
        by_problem_.erase(older->problem);
        plans_.erase(older);
    }
}

}  // namespace lapwing
