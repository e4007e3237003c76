// The Bine butterfly: a binomial one whose peers are nearer to each other. Distances between the numbers of
// peers are 1, 1, 3, 5, 11, 21, ..., about two thirds of 1, 2, 4, 8, 16, 32, ..., which is to keep bytes
// inside groups of hosts whose ranks have neighbouring numbers. De Sensi et al. 2025, "Bine Trees: Enhancing
// Collective Operations by Optimizing Communication Locality". trees.hpp has the trees.
//
// The paper numbers ranks with base -2, hence the name: binomial, negabinary.
#pragma once

#include "base/verdict.hpp"

namespace lapwing::bine {

// For `ranks` = 2^n: in step 0, ..., n - 1 each rank has one peer. The numbers of peers differ by
// (1 - (-2)^(step + 1)) / 3, around the end of the ranks: even ranks go up by this, odd ones down.
int peer(int rank, int step, int ranks);

// The place of a rank if the places are halved in each step, 0 first, and of two peers exactly one goes to
// the upper half: the peers of step s agree in the highest s bits of their places and differ in the next one.
// Every place belongs to one rank. (The paper's permutation of blocks.)
int place(int rank, int ranks);

Verdict applies_to(int ranks);  // declines numbers of ranks that are no power of two

}  // namespace lapwing::bine
