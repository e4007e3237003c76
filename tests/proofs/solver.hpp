// Proves obligations by Z3.
#pragma once

#include <optional>
#include <string>

#include "proofs/obligations.hpp"

namespace lapwing::proofs {

// Returns null if the obligation holds; else the counter-example, such as "P=3 r=1 s=2", or what the solver
// says. Threads may call it at the same time: each has its own solver.
std::optional<std::string> counter_example(const Obligation& obligation);

}  // namespace lapwing::proofs
