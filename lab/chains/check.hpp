// Proves chain forms (task/chains.hpp): they do what their lists say, in every order of events that is tried.
// README.md says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "task/chains.hpp"
#include "task/list.hpp"

namespace lapwing {

struct ChainFault {
    int rank;
    std::optional<std::size_t> task;  // index in that rank's list, from 0; none for the chain form as a whole
    std::string why;                  // one sentence, with the tasks in text form

    // Returns the fault as text: "chains: rank 2, task 3 (wait 1 1): ..."
    std::string what(std::span<const List> lists) const;
};

// Runs all chains of all ranks together, in the orders that are most likely to fail: receives as late as
// possible, one rank or one connection behind all others, one rank ahead, and random orders, for up to three
// collectives in a row. Connections hold either the fewest bytes that `limits` allows or any number. Finds:
// deadlock; a step that begins before an earlier task of the list is done; two steps in one direction of one
// connection; bytes that arrive in the wrong receive; tasks that are missing or done twice; gates with
// different numbers of signals and awaits. Also tries chain forms without receives among sends (connections
// of one byte), with short chains, and with messages in parts.
//
// `lists`: task/checker.hpp must have proven them. `hosts`: the host of each rank, or empty. Ranks of one
// host are intra-node peers, and orders in which the processors are late are tried as well. Returns the first
// fault; none if the chain forms are proven. Throws Error (invalid_argument) if sends and receives do not
// match, if the lists send more than max_bytes_of_chains in total, or if `hosts` has the wrong size.
constexpr std::uint64_t max_bytes_of_chains = std::uint64_t{1} << 40;
std::optional<ChainFault> check_chains(std::span<const List> lists, const ChainLimits& limits = {},
                                       std::span<const int> hosts = {});
// The same for given chain forms, one per list, made with `limits` and `hosts`.
std::optional<ChainFault> check_chains(std::span<const List> lists, std::span<const Chains> chains,
                                       const ChainLimits& limits, std::span<const int> hosts = {});

// Returns placements for proofs, each as the host of every rank: first an empty one (no rank shares a host),
// then hosts of 1, 3 and 2 ranks in turn, then, for 4 to 8 ranks, two hosts round robin.
std::vector<std::vector<int>> sample_hosts(int ranks);
// Proves the chain forms of lists with each of these placements.
std::optional<ChainFault> check_chains_on_hosts(std::span<const List> lists);

}  // namespace lapwing
