// Searches routes: constructions first, then local changes, by simulated annealing (Kirkpatrick et al. 1983).
#pragma once

#include <cstdint>
#include <functional>

#include "synthesis/routes.hpp"

namespace lapwing::synthesis {

struct Search {
    std::uint64_t steps = 20000;  // changes that are tried
    std::uint64_t seed = 1;
    // Called now and then; true ends the search early. Results then depend on the clock.
    std::function<bool()> stop = {};
};

// The constructions alone: greedy trees, in which the chunk that can be somewhere first goes there; a ring or
// chain through the best order of ranks; the same with slow ports as leaves; two levels of groups, for more
// than 8 ranks. `links` must be connected. `bytes`: of a chunk.
std::vector<Routes> constructions(const Links& links, const Problem& problem, int pieces, double bytes);

// Improves the best of the constructions. The same input gives the same routes.
Routes search(const Links& links, const Problem& problem, int pieces, double bytes, const Search& how);

// What the search minimizes: the time until the last rank is done.
double value_of(const Schedule& schedule);

}  // namespace lapwing::synthesis
