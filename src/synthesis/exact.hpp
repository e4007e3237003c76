// Exact search in steps of time, for few ranks: satisfiability modulo theories, as in SCCL (Cai et al. 2021,
// "Synthesizing optimal collective algorithms"), with links that take several steps for a chunk.
//
// In a step one chunk passes a fast port. The solver is Z3 (de Moura, Bjørner 2008); its library is loaded
// when it is needed, and nothing else of Lapwing needs it.
#pragma once

#include <optional>
#include <string>

#include "synthesis/routes.hpp"

namespace lapwing::synthesis {

struct Exact {
    enum class End {
        optimal,      // no routes with this number of pieces need fewer steps
        found,        // routes in so many steps; whether fewer suffice was not decided
        undecided,    // the solver's limit came first
        too_large,    // for the solver: the size of the formulas is limited
        unavailable,  // no Z3
    };
    End end = End::unavailable;
    int steps = 0;  // until the last arrival
    std::optional<Routes> routes = {};
};

// `limit`: of the solver, in its own units of work, for each number of steps; the result does not depend on
// the clock. `bytes`: of a chunk. `links` must be connected.
Exact find_exactly(const Links& links, const Problem& problem, int pieces, double bytes, std::uint64_t limit);

// Returns Z3's version, or nothing if its library cannot be loaded.
std::optional<std::string> solver_version();

}  // namespace lapwing::synthesis
