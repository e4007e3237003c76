// An algorithm: names for people, and three functions. An algorithm may decline a problem, with a reason.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/verdict.hpp"
#include "task/list.hpp"
#include "task/problem.hpp"

namespace lapwing {

// The constants of the cost model. The defaults describe 1 Gbit/s Ethernet with TCP; only their ratios matter
// for the choice. All ranks of a group use the same constants, and therefore choose the same algorithm.
struct Machine {
    double latency = 20e-6;         // seconds from a send to its arrival, for zero bytes
    double task = 0.5e-6;           // seconds of overhead for each send or receive
    double per_byte = 8e-9;         // seconds for each byte over a link
    double copy_per_byte = 0.1e-9;  // seconds for each byte copied in memory
    double copy = 0.05e-6;          // seconds of overhead for each copy
    double buffer = 262144;         // bytes that the network buffers for one receiver without congestion
    // The same for messages between ranks of one host, if the group spans several hosts.
    double intra_node_latency = 1e-6;
    double intra_node_task = 0.3e-6;
    double intra_node_per_byte = 0.2e-9;
};

// An integer that the user can set, such as the window of the pairwise exchange.
struct Parameter {
    const char* name;
    const char* meaning;
    std::int64_t default_value;
    std::int64_t min;
    std::int64_t max;
};

// Values for an algorithm's parameters, in the order of its table.
using Parameters = std::array<std::int64_t, 3>;

// How the messages of an algorithm that ignores hosts use the links between hosts, for the cost model.
enum class Paths {
    by_root,  // `single` if the collective has a root, else `shared`
    single,   // one message at a time on a host's link, as in a tree or a chain
    shared,   // all ranks send at once to arbitrary ranks: the ranks of a host share its link
    ring,     // along the placement's order: one message per host at a time, and every step takes that long
    numbers,  // to the ranks with the next numbers: as `ring` if the ranks of each host are consecutive, else
              // as `shared`
    doubling  // equal messages to the rank 1, 2, 4, ... away, from the root on if the collective has one: a
              // step takes as long as the slowest of its messages
};

inline Verdict applies_always(const Problem&, const Parameters&) {
    return Verdict::yes();
}

class UserLists;

struct Algorithm {
    // The catalogue sets these two: one definition may serve several collectives.
    Collective collective = Collective::barrier;
    const char* name = nullptr;

    const char* summary;  // one line for users
    const char* source;   // paper and section
    std::span<const Parameter> parameters = {};

    Verdict (*applies)(const Problem& problem, const Parameters& parameters) = applies_always;
    // Returns one rank's list, in time proportional to the number of that rank's tasks.
    List (*build)(const Problem& problem, int rank, const Parameters& parameters);
    // Returns the seconds until the last rank is done, by a model of latency, bytes and overheads.
    double (*cost)(const Problem& problem, const Parameters& parameters, const Machine& machine);

    // True if lists and cost depend on the problem's placement; the algorithm then declines problems without
    // a placement. All other algorithms build the same lists for every placement, and their cost assumes that
    // all ranks are equally far apart.
    bool knows_hosts = false;
    Paths paths = Paths::by_root;

    // Set if the lists come from a file; the three functions are then unused.
    const UserLists* lists = nullptr;
};

Parameters default_parameters(const Algorithm& algorithm);

// An algorithm with values for its parameters. Text form: "pairwise:window=6"; of a file "file:my.lists".
struct Choice {
    const Algorithm* algorithm = nullptr;
    Parameters parameters{};

    bool operator==(const Choice&) const = default;
    // The algorithm's functions, with these parameters. Lists from a file have no model: their cost is 0.
    Verdict applies(const Problem& problem) const;
    double cost(const Problem& problem, const Machine& machine) const;
};
std::string print(const Choice& choice);

}  // namespace lapwing
