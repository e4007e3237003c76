#include "collectives/user_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/scratch.hpp"
#include "task/builder.hpp"
#include "task/checker.hpp"
#include "task/scaling.hpp"

namespace lapwing {
namespace {

// Lists are proven whole, whatever the queues of an engine hold.
constexpr CheckLimits first_violation = {.queue_depth = UINT64_MAX, .violations = 1};

// How far a set fits a problem, and why no further.
struct Fit {
    int steps = 0;
    const char* why = nullptr;  // null: it fits
};

// Whether the set is for the problem, by what the file says of it.
Fit fit(const ListSet& set, const Problem& problem) {
    const Problem& own = set.problem;
    if (has_parts(own.collective)) return {0, "its ranks do not know the block lengths of the other ranks"};
    if (own.ranks != problem.ranks) return {0, "the file has no lists for this number of ranks"};
    if (own.root != problem.root) return {1, "the file has no lists for this root"};
    if (own.in_place && in_place_by_itself(own.collective))
        return {2,
                "its lists are in place, but each rank chooses this by itself: write lists that are not in "
                "place"};
    if (own.in_place && !problem.in_place) return {2, "its lists are in place"};
    if (set.chunks) {
        if (problem.bytes < set.chunks->min_bytes) return {3, "its lists are for longer blocks"};
        if (problem.bytes > set.chunks->max_bytes) return {3, "its lists are for shorter blocks"};
        return {6, nullptr};
    }
    if (own.bytes != problem.bytes) return {3, "its lists are for blocks of a different length"};
    if (own.op != problem.op) return {4, "its lists are for a different operator"};
    if (own.type != problem.type || own.element != problem.element)
        return {5, "its lists are for a different type"};
    return {6, nullptr};
}

Problem not_in_place(Problem problem) {
    problem.in_place = false;
    return problem;
}

// The list for a problem in place. If the rank's input lies in out, works on a copy of it, and collects the
// result beside out, where it would overwrite what is still to be read or sent. Receives at the top stay
// there. In a scatter, the root's block stays in the input, and its copy beside out is not used.
List on_copies(List list, const Problem& problem) {
    const Span whole = whole_input(problem, list.rank);
    const bool input_in_out = whole.space == Space::out && whole.length > 0;
    if (!input_in_out && list.out_bytes == out_bytes(problem, list.rank)) return list;
    constexpr std::uint64_t alignment = 16;
    const auto reserve = [&](std::uint64_t bytes) {
        const std::uint64_t offset = (list.scratch_bytes + alignment - 1) / alignment * alignment;
        list.scratch_bytes = offset + bytes;
        return Span{Space::scratch, offset, bytes};
    };
    const Span copy_of_input = reserve(input_in_out ? list.in_bytes : 0);
    const Span result = reserve(list.out_bytes);
    const auto moved = [&](Span span) {
        if (span.length == 0 || span.space == Space::scratch) return span;
        if (span.space == Space::in && !input_in_out) return span;
        return (span.space == Space::in ? copy_of_input : result).part(span.offset, span.length);
    };
    const auto local = [](Span target, Span source) {
        return Task{.kind = Kind::copy, .target = target, .source = source};
    };
    std::vector<Task> tasks;
    tasks.reserve(list.tasks.size() + 2);
    bool at_top = true;
    for (Task task : list.tasks) {
        if (at_top && task.kind != Kind::recv) {
            at_top = false;
            if (input_in_out) tasks.push_back(local(copy_of_input, whole));
        }
        task.target = moved(task.target);
        task.source = moved(task.source);
        tasks.push_back(task);
    }
    if (input_in_out && result.length > 0) tasks.push_back(local(out(0, result.length), result));
    list.tasks = std::move(tasks);
    list.in_bytes = in_bytes(problem, list.rank);
    list.out_bytes = out_bytes(problem, list.rank);
    return list;
}

// The list of a set for a problem that fits it.
List list_for(const ListSet& set, const Problem& problem, int rank) {
    if (set.problem.in_place || !problem.in_place)
        return set.chunks ? scale(set, problem, rank) : set.lists[static_cast<std::size_t>(rank)];
    return on_copies(list_for(set, not_in_place(problem), rank), problem);
}

bool right(const Problem& problem, std::span<const List> lists) {
    return check(problem, lists, first_violation).empty();
}

}  // namespace

UserLists::UserLists(std::string file, std::uint64_t fingerprint, std::vector<ParsedSet> sets)
    : file_(std::move(file)), name_("file:" + file_), fingerprint_(fingerprint) {
    for (ParsedSet& parsed : sets) {
        Set& set = sets_.emplace_back();
        for (const List& list : parsed.set.lists)
            set.max_scratch = std::max(set.max_scratch, list.scratch_bytes);
        set.parsed = std::move(parsed);
    }
    algorithm_ = {.collective = sets_.front().parsed.set.problem.collective,
                  .name = name_.c_str(),
                  .summary = "lists of a file, proven before they run",
                  .source = file_.c_str(),
                  .applies = nullptr,
                  .build = nullptr,
                  .cost = nullptr,
                  .paths = Paths::shared,
                  .lists = this};
}

UserLists::Found UserLists::find(const Problem& problem) const {
    Fit best = {-1, nullptr};
    const auto declined = [&](int steps, const char* why) {
        if (steps > best.steps) best = {steps, why};
    };
    for (const Set& set : sets_) {
        const ListSet& lists = set.parsed.set;
        const Fit of = fit(lists, problem);
        if (of.why != nullptr) {
            declined(of.steps, of.why);
            continue;
        }
        const Proof& proof = proof_of(set);
        if (!proof.counter_example.empty()) {
            declined(of.steps + 1, proof.counter_example.c_str());
        } else if (problem.ordered && !proof.in_order) {
            declined(of.steps, "its lists do not combine in rank order");
        } else if (!lists.problem.in_place && !proof.in_place &&
                   (problem.in_place || in_place_by_itself(problem.collective))) {
            declined(of.steps, "its lists cannot work in place");
        } else if (lists.chunks && !within_scratch(scaled_scratch(lists, problem, set.max_scratch), 1)) {
            declined(of.steps, "its lists need more than 1 GiB of scratch");
        } else if (lists.chunks && !proof.aligned && !divides_evenly(lists, problem)) {
            declined(of.steps,
                     "a block does not divide evenly into its chunks, and its lists exchange chunks of "
                     "different positions");
        } else {
            return {&set, Verdict::yes()};
        }
    }
    return {nullptr, Verdict::no(best.why)};
}

Verdict UserLists::applies(const Problem& problem) const {
    return find(problem).verdict;
}

std::string UserLists::refusal(const Problem& problem) const {
    for (const Set& set : sets_) {
        if (fit(set.parsed.set, problem).why != nullptr) continue;
        if (const Proof& proof = proof_of(set); !proof.counter_example.empty()) return proof.counter_example;
    }
    return {};
}

List UserLists::build(const Problem& problem, int rank) const {
    const Found found = find(problem);
    return list_for(found.set->parsed.set, problem, rank);
}

const UserLists::Proof& UserLists::proof_of(const Set& set) const {
    const std::lock_guard lock(mutex_);
    if (!set.proof) set.proof = prove(set);
    return *set.proof;
}

UserLists::Proof UserLists::prove(const Set& set) const {
    const ListSet& lists = set.parsed.set;
    Proof proof;
    const std::vector<Violation> violations = check(lists.problem, lists.lists, first_violation);
    if (!violations.empty()) {
        const Violation& first = violations.front();
        proof.counter_example =
            fmt::format("{}:{}: {}{}", file_, line_of(set.parsed, first.rank, first.task),
                        first.what(lists.lists), lists.chunks ? " (offsets and lengths in chunks)" : "");
        return proof;
    }
    Problem other = lists.problem;
    if (is_reduction(other.collective)) {
        other.ordered = true;
        proof.in_order = right(other, lists.lists);
        other.ordered = lists.problem.ordered;
    }
    if (may_be_in_place(other.collective) && !other.in_place) {
        other.in_place = true;
        std::vector<List> copies;
        for (const List& list : lists.lists) copies.push_back(on_copies(list, other));
        proof.in_place = right(other, copies);
    }
    proof.aligned = lists.chunks && first_unaligned(lists).empty();
    return proof;
}

}  // namespace lapwing
