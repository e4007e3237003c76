// Rule chains: runs of all chains of all ranks together.
#pragma once

#include "task/checker/chain_order.hpp"
#include "task/checker/chain_table.hpp"
#include "task/checker/rules.hpp"

namespace lapwing::checker {

// Ends with the first finding.
void run_chains(const ChainTable& table, const Order& order, Findings& findings);

}  // namespace lapwing::checker
