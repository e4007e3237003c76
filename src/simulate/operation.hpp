// A collective of a program, or a message: its lists, and the groups of ranks that run them.
#pragma once

#include <cstdint>

#include "simulate/lists.hpp"

namespace lapwing::simulate {

// All ranks form groups of `lists->ranks` ranks, `stride` apart. With stride 1, a group has consecutive
// ranks; with the ranks of a row as stride, a group is a column. Each group runs the lists by itself. The
// first rank of a group runs list `rotation`, the next rank the next list, and so on: one set of lists serves
// every root.
struct Operation {
    const Lists* lists = nullptr;
    int stride = 1;
    int rotation = 0;
    // Of scripts only: the index of the communicator, whose member i runs list i. A message has no
    // communicator, and two lists: the sender's and the receiver's.
    int communicator = -1;
    // Whether the native MPI runs it, not the engine.
    bool native = false;
    bool synchronous = false;  // a message by rendezvous, however short
};

}  // namespace lapwing::simulate
