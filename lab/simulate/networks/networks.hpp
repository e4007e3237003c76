// The networks. All links have the rate of the parameters; a host has one link out and one in.
#pragma once

#include <memory>
#include <vector>

#include "simulate/network.hpp"

namespace lapwing::simulate {

// Hosts with several ranks, and nothing between them but the latency, half of it before the sender's link.
std::unique_ptr<Network> crossbar(int hosts, int ranks_per_host);

// Hosts on a grid, numbered along x first, then y, ...; messages go along x first, then y, ..., in a torus
// the shorter way round, upwards where both are as long (dimension-order routing; Dally, Towles 2004, chapter
// 8). The links of a one-way torus go upwards only, as SCI's.
enum class GridKind { mesh, torus, one_way_torus };
std::unique_ptr<Network> grid(std::vector<int> extents, GridKind kind, int ranks_per_host, Time hop);

// An extended generalized fat tree (Oehring et al. 1995): a node of level i has down[i] children, and a node
// below it up[i] parents. Messages go up to the first switch above both hosts and down, by the parents that
// the number of the receiving host gives (D-mod-k; Zahavi 2012, "Fat-tree routing and node ordering").
std::unique_ptr<Network> fat_tree(std::vector<int> down, std::vector<int> up, int ranks_per_host, Time hop);

}  // namespace lapwing::simulate
