// What the ranks of MPI_COMM_WORLD agree on, so that all decide alike.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lapwing {

// One rank's trouble, told to all: "rank 3 (node2): ..." of the lowest rank that has one, empty when none
// has. Collective over MPI_COMM_WORLD.
std::string agree_on_trouble(const std::string& mine, int self);
// The same of several kinds of trouble at once.
std::vector<std::string> agree_on_troubles(std::span<const std::string> mine, int self);

}  // namespace lapwing
