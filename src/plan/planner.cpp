#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/floating_point.hpp"
#include "collectives/catalogue.hpp"
#include "task/checker.hpp"
#include "task/parts.hpp"

namespace lapwing {
namespace {

constexpr int max_checked_ranks = 64;

bool admits_form(GroupEngine& group, const Problem& form, const Choice& choice, const ListUse& use) {
    // The parts of all ranks are as many as the square of the ranks. Few engines ask for them.
    std::optional<Problem> whole;
    const auto list_of = [&](int rank) {
        if (!whole) whole = with_parts_of_all(form);
        return build(*whole, rank, choice);
    };
    return static_cast<bool>(group.admit(form, std::ref(list_of), use));
}

// Where a rank may be in place by itself, ranks know a problem in both forms, and an engine that took one
// form and declined the other would leave ranks of one collective to different engines. Of gatherv and
// scatterv a rank has nothing to show but its own parts.
bool admits(GroupEngine& group, const Problem& problem, const Choice& choice, const ListUse& use) {
    if (!in_place_by_itself(problem.collective) || has_parts(problem.collective))
        return admits_form(group, problem, choice, use);
    Problem form = problem;
    form.in_place = false;
    if (!admits_form(group, form, choice, use)) return false;
    form.in_place = true;
    return admits_form(group, form, choice, use);
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

void prove(const Problem& problem, const Choice& choice) {
    const ListSet set = build_all(problem, choice);
    const auto violations = check(problem, set.lists, {.queue_depth = UINT64_MAX, .violations = 1});
    if (violations.empty()) return;
    throw Error(ErrorCode::internal, "{} {} builds wrong lists: {}", name(problem.collective), set.algorithm,
                violations.front().what(set.lists));
}

std::uint64_t hash_of(const Problem& p, Starts starts) {
    std::uint64_t hash = 0;
    const auto add = [&hash](std::uint64_t value) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
    };
    add(static_cast<std::uint64_t>(p.collective) | static_cast<std::uint64_t>(p.op) << 8 |
        static_cast<std::uint64_t>(p.type) << 16 | static_cast<std::uint64_t>(p.in_place) << 24 |
        static_cast<std::uint64_t>(p.ordered) << 25 | static_cast<std::uint64_t>(starts) << 26);
    add(static_cast<std::uint64_t>(p.root));
    add(p.bytes);
    add(p.element);
    if (p.placement != nullptr) add(p.placement->hash());
    for (const Parts& parts : p.parts) {
        for (const std::vector<Part>* row : {&parts.sends, &parts.receives}) {
            add(row->size());
            for (const Part& part : *row) {
                add(static_cast<std::uint64_t>(part.peer) + part.offset * 0xc2b2ae3d27d4eb4fU +
                    part.bytes * 0x165667b19e3779f9U);
            }
        }
    }
    return hash;
}

}  // namespace

Planner::Planner(int rank, std::vector<EngineOfGroup> engines, const PlanOptions& options)
    : rank_(rank), options_(options) {
    for (EngineOfGroup& row : engines) engines_.push_back({std::move(row), nullptr, nullptr});
    waits_ = std::ranges::any_of(engines_, [](const Candidate& one) { return one.row.is_costly; });
    fill_buckets(8);  // a group that lives for one collective needs no more
    guidance_ = {options.tuning.get(), {first_engine().name(), options.several_hosts}};
}

Plan& Planner::find_or_make(const Problem& problem, Starts starts) {
    const std::uint64_t hash = hash_of(problem, starts);
    for (auto plan = bucket_of(hash); plan != plans_.end(); plan = plan->next) {
        if (plan->hash != hash || plan->starts != starts || plan->problem != problem) continue;
        plans_.splice(plans_.begin(), plans_, plan);
        return *plan;
    }
    const DefaultFloatingPoint default_floating_point;
    if (evicted_.empty()) evicted_.emplace_front();
    Plan& plan = evicted_.front();
    make(problem, starts, plan);
    plans_.splice(plans_.begin(), evicted_);
    plan.hash = hash;
    plan.next = std::exchange(bucket_of(hash), plans_.begin());
    if (plans_.size() > 2 * buckets_.size()) fill_buckets(4 * buckets_.size());
    tasks_ += plan.tasks;
    evict();
    return plan;
}

// All ranks plan the same collectives in the same order.
void Planner::count_towards_opening(const Problem& problem) {
    select(problem, options_.requested);  // throws if there will be no plan; then some ranks do not even ask
    counted_ += 1 + problem.bytes / (16 * 1024);
    if (counted_ < worth_opening) return;
    waits_ = false;
    outdated_.splice(outdated_.begin(), plans_);
    tasks_ = 0;
    fill_buckets(8);
}

void Planner::fill_buckets(std::size_t buckets) {
    buckets_.assign(buckets, plans_.end());
    for (auto plan = plans_.begin(); plan != plans_.end(); ++plan)
        plan->next = std::exchange(bucket_of(plan->hash), plan);
}

bool Planner::needs_agreement(const Plan& plan) {
    return std::ranges::any_of(engines_, [&](Candidate& candidate) {
        return candidate.row.engine == plan.engine && open(candidate).needs_agreement();
    });
}

GroupEngine& Planner::open(Candidate& candidate) {
    if (candidate.failure) std::rethrow_exception(candidate.failure);
    if (candidate.opened != nullptr) return *candidate.opened;
    try {
        candidate.opened = candidate.row.open();
    } catch (...) {
        // What it had set aside is gone.
        candidate.failure = std::current_exception();
        throw;
    }
    return *candidate.opened;
}

Planner::Candidate& Planner::choose_engine(const Problem& problem, Starts starts, const List& list,
                                           const Choice& choice, const ListUse& use) {
    for (Candidate& candidate : engines_) {
        if (waits_ && candidate.row.is_costly) continue;
        if (!supports(*candidate.row.engine, problem, list, choice)) continue;
        GroupEngine& group = open(candidate);
        if (starts == Starts::persistent_alone && group.needs_agreement()) continue;
        if (admits(group, problem, choice, use)) return candidate;
    }
    throw Error(ErrorCode::unsupported, "no engine can run this list");
}

void Planner::make(const Problem& problem, Starts starts, Plan& plan) {
    plan.problem = problem;
    plan.starts = starts;
    plan.bytes_sent = 0;
    plan.in_flight = 0;
    plan.trace_number = 0;
    if (!guidance_.known) guidance_.known = guidance_.machine(problem);
    const Selection selection = select(problem, options_.requested, guidance_);
    plan.choice = selection.choice;
    if (!selection.refused.empty() && options_.warn) {
        options_.warn(fmt::format("{}; {} is used for {} instead", selection.refused, print(selection.choice),
                                  name(problem.collective)));
    }
    // A rank that knows only its own parts cannot build the other ranks' lists.
    const bool all_known =
        !has_parts(problem.collective) || problem.parts.size() == static_cast<std::size_t>(problem.ranks);
    if (options_.check && all_known && problem.ranks <= max_checked_ranks) prove(problem, plan.choice);
    List list = build(problem, rank_, plan.choice);
    const ListUse use{problem.bytes <= options_.max_bytes_by_memory ? Inside::by_memory : Inside::by_engine,
                      starts != Starts::anew};
    Candidate& chosen = choose_engine(problem, starts, list, plan.choice, use);
    plan.engine = chosen.row.engine;
    plan.tasks = list.tasks.size();
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) plan.bytes_sent += task.source.length;
    }
    plan.written = memcheck::written_by(list);
    plan.prepared = chosen.opened->prepare(problem, std::move(list), use);
}

// Removes the least recently used plans; never the newest, nor one in flight.
void Planner::evict() {
    for (auto plan = std::prev(plans_.end());
         plan != plans_.begin() && (plans_.size() > max_plans || tasks_ > max_tasks);) {
        const auto older = plan--;
        if (older->in_flight > 0) continue;
        tasks_ -= older->tasks;
        Plans::iterator* link = &bucket_of(older->hash);
        while (*link != older) link = &(*link)->next;
        *link = older->next;
        older->prepared.reset();
        evicted_.clear();
        evicted_.splice(evicted_.begin(), plans_, older);
    }
}

}  // namespace lapwing
