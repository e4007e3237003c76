// The checker: given the lists of all ranks it proves them, or shows a counter-example.
//
// form        one list per rank, of the problem's sizes; every span lies inside its space, every peer is
//             another rank; nothing writes in, or out between the blocks of the result
// matching    every send is met by a receive of the same length, in order, and every receive is waited for
// deadlock    every list comes to its end, even when a send goes no further until its receive is posted
// hazard      no span is read or written while the network may still touch it: a receive's from its posting
//             to the wait that completes it, a send's from its start to the end of the list
// provenance  the problem's result (task/result.hpp) stands in the right place: each byte of out comes from
//             the right byte of the right rank; in reductions each contribution counts exactly once, and in
//             rank order where the operator does not commute; after a barrier every rank knows of every
//             other's arrival
// queue_depth no queue of the lowered list is longer than the engine's
// chains      tried apart, by check_chains(): the chain form of the lists does what they say, in every order
//             of events that is tried
//
// Lists are deterministic: each rank runs in one order and bytes between two ranks keep theirs, so one run
// stands for all (a Kahn process network), and hazards can be told from each rank's list alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "task/chains.hpp"
#include "task/list.hpp"

namespace lapwing {

enum class Rule { form, matching, deadlock, hazard, provenance, queue_depth, chains };
const char* name(Rule rule);

struct Violation {
    Rule rule;
    int rank;                         // where it shows
    std::optional<std::size_t> task;  // index in that rank's list, from 0; none when the list as a whole
    std::string why;                  // one sentence, with the tasks in their text form

    // "deadlock: rank 2, task 3 (wait 1 1): ..."
    std::string what(std::span<const List> lists) const;
};

struct CheckLimits {
    std::uint64_t queue_depth = 16384;  // CORE-Direct: about 16 Ki (Graham et al. 2010, section IV)
    std::size_t violations = 8;         // stop after so many
};

// Empty when the lists are proven. The first violation is the earliest cause that was found: rules are tried
// in the order of the enumeration, and a later rule is not tried on lists that break an earlier one (except
// queue_depth, which is tried whenever the form is right). Throws Error (invalid_argument) when the problem
// itself makes no sense.
std::vector<Violation> check(const Problem& problem, std::span<const List> lists,
                             const CheckLimits& limits = {});

// Proves the chain forms of lists that check() has proven: all chains of all ranks run together, in orders
// that are chosen to do harm (receives as late as can be, one rank or one connection behind all others, one
// rank ahead, at random; up to three collectives in a row), over connections that hold as few bytes as
// `limits` allows or any number. Looked for: deadlock; a step that begins before what stands before it in the
// list; two steps in one direction of one connection; bytes that land in another receive; tasks left out or
// done twice; gates whose signals and awaits differ. What holds for `limits` must hold without receives among
// sends (connections of one byte), and with chains cut short and messages in parts; these are tried, too.
// Ends with the first chain form that is wrong. Where `hosts` says on which host each rank is, ranks of one
// host are intra-node peers of each other; the processors' own lines are then as late as can be, too. Throws
// Error (invalid_argument) for lists whose sends and receives do not meet, or that send more than
// max_bytes_of_chains in all, and for hosts of another number of ranks.
constexpr std::uint64_t max_bytes_of_chains = std::uint64_t{1} << 40;
std::vector<Violation> check_chains(std::span<const List> lists, const ChainLimits& limits = {},
                                    std::size_t violations = 8, std::span<const int> hosts = {});
// The same for chain forms that are given, one per list, made with `limits` and `hosts`.
std::vector<Violation> check_chains(std::span<const List> lists, std::span<const Chains> chains,
                                    const ChainLimits& limits, std::size_t violations = 8,
                                    std::span<const int> hosts = {});

}  // namespace lapwing
