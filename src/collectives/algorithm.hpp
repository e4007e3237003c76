// What an algorithm is: a row of data and three functions. A problem is offered; an algorithm may decline it.
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

// What the costs are counted in. The defaults are those of a 1 Gbit/s Ethernet with TCP; only their ratios
// decide. All ranks of a group use the same values, so that they choose the same algorithm.
struct Machine {
    double latency = 20e-6;         // seconds from a send to its arrival, for no bytes
    double task = 0.5e-6;           // seconds of overhead for each send or receive
    double per_byte = 8e-9;         // seconds for each byte over a link
    double copy_per_byte = 0.1e-9;  // seconds for each byte copied in memory
    double copy = 0.05e-6;          // seconds of overhead for each copy
    double buffer = 262144;         // bytes that the network holds for a receiver without trouble
    // The same for messages between ranks of one host, where the group spans several.
    double intra_node_latency = 1e-6;
    double intra_node_task = 0.3e-6;
    double intra_node_per_byte = 0.2e-9;
};

// A number that an algorithm can be told, such as the window of the pairwise exchange.
struct Parameter {
    const char* name;
    const char* meaning;
    std::int64_t usual;  // when none is given
    std::int64_t least;
    std::int64_t most;
};

// Values for an algorithm's parameters, in the order of its table.
using Parameters = std::array<std::int64_t, 3>;

// Where ranks stand on several hosts: how the messages of an algorithm that does not know this use the links.
enum class Paths {
    usual,   // with a root as `few`, without as `shared`
    few,     // as in a tree or a chain: a host's link has one at a time
    shared,  // all ranks send at once, to any others: those of a host share its link
    ring,    // along the placement's order: one of each host at a time, and every step takes as long as that
    numbers  // to the ranks of the next numbers: as `ring` where those of each host follow one another, else
             // as `shared`
};

struct Algorithm {
    Collective collective;
    const char* name;
    const char* summary;  // one line, for people who choose
    const char* source;   // paper and section
    std::span<const Parameter> parameters;

    Verdict (*applies)(const Problem& problem, const Parameters& parameters);
    // One rank's list. Takes time in proportion to that rank's own tasks.
    List (*build)(const Problem& problem, int rank, const Parameters& parameters);
    // Seconds until the last rank is done, by a model of latency, bytes and overheads.
    double (*cost)(const Problem& problem, const Parameters& parameters, const Machine& machine);

    // Its lists and its cost follow the problem's placement, and it declines without one. The lists of all
    // others are the same wherever the ranks stand, and their cost is that of ranks which are all equally far
    // from each other.
    bool knows_hosts = false;
    Paths paths = Paths::usual;
};

Parameters default_parameters(const Algorithm& algorithm);

// An algorithm with its parameters' values. Text form: "pairwise:window=6".
struct Choice {
    const Algorithm* algorithm = nullptr;
    Parameters parameters{};

    bool operator==(const Choice&) const = default;
};
std::string print(const Choice& choice);

}  // namespace lapwing
