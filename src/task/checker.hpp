// clang-format off
// The checker: proves the lists of all ranks, or reports a counter-example.
//
// form         There is one list per rank, with the problem's sizes. Every span lies inside its space, and
//              every peer is another rank. No task writes to in, or to out between the blocks of the result.
// matching     Every send matches a receive of the same length, in order, and every receive has a wait.
// deadlock     Every list completes, even if a send blocks until its receive is posted.
// hazard       No task reads or writes a span that the network may still access: a receive's span from its
//              posting to the wait that completes it, a send's span from its start to the end of the list.
// provenance   Every byte of the result (task/result.hpp) comes from the right byte of the right rank. In
//              reductions each contribution counts exactly once, in rank order if the operator does not
//              commute. No rank leaves a barrier before all ranks have arrived.
// queue_depth  No queue of the lowered list is longer than the limit.
//
// Lists are deterministic: each rank runs in one order, and messages between two ranks keep their order (a
// Kahn process network). One run therefore represents all runs, and each list shows its own hazards.
// clang-format on
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "task/list.hpp"

namespace lapwing {

enum class Rule { form, matching, deadlock, hazard, provenance, queue_depth };
const char* name(Rule rule);

struct Violation {
    Rule rule;
    int rank;
    std::optional<std::size_t> task;  // index in that rank's list, from 0; none for the list as a whole
    std::string why;                  // one sentence, with the tasks in text form

    // Returns the violation as text: "deadlock: rank 2, task 3 (wait 1 1): ..."
    std::string what(std::span<const List> lists) const;
};

struct CheckLimits {
    std::uint64_t queue_depth = 16384;  // CORE-Direct: about 16 Ki (Graham et al. 2010, section IV)
    std::size_t violations = 8;         // stop after this many
};

// Returns the violations; none if the lists are proven. Rules are checked in the order of the enumeration. A
// rule is checked only if the lists pass all earlier rules, except queue_depth, which requires only form.
// Throws Error (invalid_argument) if the problem is invalid.
std::vector<Violation> check(const Problem& problem, std::span<const List> lists,
                             const CheckLimits& limits = {});

}  // namespace lapwing
