// Bine trees and butterflies: binomial ones whose peers are nearer to each other. Distances between the
// numbers of peers are 1, 1, 3, 5, 11, 21, ..., about two thirds of 1, 2, 4, 8, 16, 32, ..., which is to keep
// bytes inside groups of hosts whose ranks have neighbouring numbers. De Sensi et al. 2025, "Bine Trees:
// Enhancing Collective Operations by Optimizing Communication Locality".
//
// The paper numbers ranks with base -2, hence the name: binomial, negabinary.
#pragma once

#include "base/verdict.hpp"
#include "collectives/subtrees.hpp"

namespace lapwing::bine {

// The butterfly, for `ranks` = 2^n: in step 0, ..., n - 1 each rank has one peer. The numbers of peers differ
// by (1 - (-2)^(step + 1)) / 3, around the end of the ranks: even ranks go up by this, odd ones down.
int peer(int rank, int step, int ranks);

// The place of a rank if the places are halved in each step, 0 first, and of two peers exactly one goes to
// the upper half: the peers of step s agree in the highest s bits of their places and differ in the next one.
// Every place belongs to one rank. (The paper's permutation of blocks.)
int place(int rank, int ranks);

Verdict applies_to(int ranks);  // declines numbers of ranks that are no power of two

// The tree: a run of ranks has a head, about a third of the run from one of its ends. The head keeps the half
// that it is in; the other half gets a head that is a third of the run away. And so on with both halves.
//
// The paper defines the tree for 2^n ranks, by flipping the lowest digits of negabinary numbers (its tree of
// halved distances). Halves that differ by one rank extend it to all numbers of ranks; a test compares both.
//
// The ranks stand in places 0, ..., ranks - 1, in order and around the end, and `first` is the rank in place
// 0.
TreeNode tree_node(int ranks, int rank, int first);
// The place of the root, in a tree of so many ranks.
int place_of_root(int ranks);
// The rank in place 0 if `root` is the root.
int first_of_tree(int ranks, int root);

}  // namespace lapwing::bine
