// What the lists of a problem take of the network, on all ranks: each rank builds the lists of all, so that
// all come to the same verdict. Data in, data out.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "base/verdict.hpp"
#include "engines/engine.hpp"
#include "engines/triggered/schedule.hpp"
#include "task/list.hpp"

namespace lapwing::triggered {

// What lists may take. Equal on all ranks.
struct Limits {
    std::uint64_t entries = 0;   // trigger entries of one list
    std::uint64_t counters = 0;  // of the group's lists together
    std::uint64_t bytes = 0;     // of one list, from one rank to another, unless it is persistent
};

struct Demand {
    Verdict verdict = Verdict::yes();  // no: a limit of the options, or lists without a schedule
    // Where it is yes:
    // That a run takes on any rank, at most; with those of its pairs, of a list that keeps its buffers.
    std::uint64_t counters = 0;
    std::vector<std::set<std::int32_t>> peers;  // of each rank
};

// `list_of` builds the list of a rank. Lists that keep their buffers land directly.
Demand demand_of(const Problem& problem, const std::function<List(int)>& list_of, const Limits& limits,
                 Landing landing = Landing::slots);

// Those of one list that keeps its buffers, with those of its run.
std::uint64_t counters_of_kept(const Schedule& schedule);

}  // namespace lapwing::triggered
