// Which algorithm takes a problem: the one that was asked for, or the cheapest that applies. Depends only on
// what all ranks of the group share, so that all choose the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

// At most one wish for each collective, as LAPWING_ALGORITHM writes them:
// "ialltoall=pairwise:window=6,ibcast=binomial".
class Wishes {
  public:
    // Throws Error that names the nearest valid collective, algorithm or parameter.
    static Wishes parse(std::string_view text);
    const Choice* find(Collective collective) const;

  private:
    std::vector<Choice> choices_;
};

struct Candidate {
    Choice choice;
    double cost = 0;  // seconds by the model; meaningless when it declines
    Verdict applies = Verdict::yes();
};

// Every algorithm of the problem's collective with its verdict and cost, cheapest first, decliners last.
std::vector<Candidate> candidates(const Problem& problem, const Machine& machine = {});

struct Selection {
    Choice choice;
    std::string
        why;  // one clause: "asked for", "cheapest by the cost model", "ring declined: ...; cheapest ..."
};

// Throws Error (unsupported) when no algorithm applies.
Selection select(const Problem& problem, const Wishes& wishes = {}, const Machine& machine = {});

}  // namespace lapwing
