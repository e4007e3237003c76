// What the lists of a problem take of the network, on all ranks: each rank builds the lists of all, so that
// all come to the same verdict. Data in, data out.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "base/verdict.hpp"
#include "engines/triggered/schedule.hpp"
#include "task/list.hpp"

namespace lapwing::triggered {

// What lists may take. Equal on all ranks.
struct Limits {
    std::uint64_t entries = 0;   // trigger entries of one list
    std::uint64_t counters = 0;  // of the group's lists together
    std::uint64_t bytes = 0;     // of one list, from one rank to another, unless it is persistent
};

// What the lists of one group may take. Lists that are not persistent share what they take; each persistent
// list has its own. No counters for persistent lists: the group declines them.
struct GroupLimits {
    Limits once;
    Limits persistent;
};

struct Demand {
    Verdict verdict = Verdict::yes();  // no: a limit is exceeded, or a list has no schedule
    // The rest is valid if the verdict is yes.
    std::uint64_t counters = 0;  // that a run takes on any rank; of a persistent list, with its channel's
    std::vector<std::set<std::int32_t>> peers;  // of each rank
};

// `list_of` builds the list of a rank. Landing::direct: the lists are persistent.
Demand demand_of(const Problem& problem, const std::function<List(int)>& list_of, const Limits& limits,
                 Landing landing = Landing::slots);

}  // namespace lapwing::triggered
