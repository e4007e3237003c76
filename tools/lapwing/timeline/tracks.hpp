// From a rank's events to its collectives: which tasks and chains belong to each, and beside which others
// they are drawn. Slices of one track are nested or apart, as the Trace Event format demands.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/timeline/trace_parts.hpp"
#include "task/task.hpp"

namespace lapwing::tool {

struct Operation {
    std::uint32_t number = 0;
    std::string function;  // "MPI_Ialltoall"
    bool complete = false;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;  // of one that is not complete: the last time that is known of it
    std::uint64_t which = 0;  // trace::which
    const nlohmann::ordered_json* plan = nullptr;  // facts; null: unknown
    const nlohmann::ordered_json* group = nullptr;
    std::vector<trace::Event> tasks;                   // in the order in which they were recorded
    std::vector<std::pair<trace::Event, int>> chains;  // with their places beside each other
    int place = 0;                                     // beside other collectives

    int track() const { return 1000 * (place + 1); }
    int member(int peer) const;  // in MPI_COMM_WORLD; -1: unknown
};

inline int track_of_thread(std::uint16_t thread) {
    return 1 + thread % 900;
}

// In the order in which they began.
std::vector<Operation> find_operations(const RankPart& part);

// Where a message is sent, or has arrived; the same key at both ends.
struct MessageEnd {
    std::string key;
    bool sent = false;
    int track = 0;
    std::uint64_t time = 0;
};
// None for a collective of which events are missing, or whose ranks are not known.
std::vector<MessageEnd> message_ends(const Operation& operation);

}  // namespace lapwing::tool
