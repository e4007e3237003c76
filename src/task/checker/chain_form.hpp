// The part of rule chains that concerns the chains of one rank alone.
#pragma once

#include <span>

#include "task/chain_form.hpp"
#include "task/checker/chain_facts.hpp"
#include "task/checker/rules.hpp"

namespace lapwing::checker {

// Checks that every task of the list occurs once and whole, with intra-node tasks at the processor; that
// gates have as many signals as awaits; that only short receives are among sends; and that no chain exceeds
// the limit.
void check_chain_form(std::span<const List> lists, const ListFacts& facts, std::span<const Chains> chains,
                      const ChainLimits& limits, Findings& findings);

}  // namespace lapwing::checker
