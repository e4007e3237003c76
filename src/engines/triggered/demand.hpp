// What the lists of a problem take of the network, on all ranks: each rank builds the lists of all, so that
// all come to the same verdict. Data in, data out.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "base/verdict.hpp"
#include "engines/engine.hpp"
#include "task/list.hpp"

namespace lapwing::triggered {

struct Demand {
    Verdict verdict = Verdict::yes();  // no: a limit of the options, or lists without a schedule
    // Where it is yes:
    std::uint64_t counters = 0;                 // that a run takes on any rank, at most
    std::vector<std::set<std::int32_t>> peers;  // of each rank
};

// `list_of` as for Engine::accepts().
Demand demand_of(const Problem& problem, const std::function<List(int)>& list_of,
                 const EngineOptions& options);

}  // namespace lapwing::triggered
