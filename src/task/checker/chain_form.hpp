// Rule chains, as far as the chains of one rank alone can show it.
#pragma once

#include <span>

#include "task/chain_form.hpp"
#include "task/checker/chain_facts.hpp"
#include "task/checker/rules.hpp"

namespace lapwing::checker {

// Every task is there once, whole, and as its list has it,
// what is intra-node among the processor's; as many signals as are awaited; among the sends only receives
// that are short; no chain longer than it may be.
void check_chain_form(std::span<const List> lists, const ListFacts& facts, std::span<const Chains> chains,
                      const ChainLimits& limits, Findings& findings);

}  // namespace lapwing::checker
