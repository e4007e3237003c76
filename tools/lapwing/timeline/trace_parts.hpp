// What the ranks of a traced job have left in a directory: see base/trace.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/trace.hpp"

namespace lapwing::tool {

struct RankPart {
    int rank = 0;
    bool ended = false;         // it reached MPI_Finalize
    std::uint64_t dropped = 0;  // events
    std::vector<trace::Event> events;
    // Facts, by number where they have one.
    nlohmann::ordered_json about;  // "rank"
    std::map<std::uint64_t, nlohmann::ordered_json> groups;
    std::map<std::uint64_t, nlohmann::ordered_json> plans;
    std::map<std::uint64_t, bool> threads;  // by number: whether it is one of Lapwing's own
    std::map<std::uint64_t, nlohmann::ordered_json> sites;
    std::vector<nlohmann::ordered_json> messages;
    std::vector<nlohmann::ordered_json> clocks;       // readings, in order
    double aligned(std::uint64_t nanoseconds) const;  // by the clock of rank 0's host
    std::uint64_t clock_error() const;                // nanoseconds, at most; 0: it has that clock
};

// In the order of ranks. Without what a killed rank did not finish. Throws Error (system) when
// a part cannot be read.
std::vector<RankPart> read_trace_parts(const std::string& directory);

}  // namespace lapwing::tool
