// Lowering: from a list to the queues of CORE-Direct (Graham et al. 2010, section III-A, Tables II to IV):
// a send queue and a receive queue per peer, and the management queue, whose last task signals completion.
//
// - Waits, copies and reductions go to the management queue, in list order.
// - A send or receive after one of these is posted disabled; the management queue enables it.
// - The management queue enables every send, even if it was posted enabled: Table IV does so, and enabling
//   twice is harmless. A receive that was posted enabled needs no enable.
// - Adjacent enables of one queue are merged into one enable with a count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "task/list.hpp"

namespace lapwing {

struct QueuedTask {
    Task task;
    bool enabled = true;

    bool operator==(const QueuedTask&) const = default;
};

struct PeerQueues {
    int peer = 0;
    std::vector<QueuedTask> send;
    std::vector<QueuedTask> receive;
};

struct Queues {
    int rank = 0;
    int ranks = 1;
    std::vector<PeerQueues> peers;  // in the order in which the list first names them
    std::vector<Task> management;   // the last one signals
};

// Takes time in proportion to the list's length. Throws Error (invalid_argument) for a list that holds
// enable tasks already.
Queues lower(const List& list);

// The number of tasks in the longest of the queues.
std::uint64_t depth(const Queues& queues);

// Readable, one queue after the other; not meant to be parsed.
std::string print(const Queues& queues);

}  // namespace lapwing
