// Truths about the bits of numbers, which a solver that reasons about integers does not know.
#pragma once

#include "proofs/obligations.hpp"

namespace lapwing::proofs {

// What must be proven of the lemmas themselves, over vectors of bits.
std::vector<Obligation> lemmas();

// The lemmas for the numbers whose bits these formulas name.
std::vector<Expression> lemmas_for(const std::vector<Expression>& formulas);

}  // namespace lapwing::proofs
