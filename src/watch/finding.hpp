// One cause for which ranks wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::watch {

struct Finding {
    enum class Kind {
        mismatch,     // ranks disagree on a call of a collective
        silent,       // a rank does not answer
        cycle,        // ranks wait for each other, across communicators or by point-to-point calls
        missing,      // ranks have not entered a collective in which others wait
        native_call,  // a rank waits in a point-to-point call for a rank that waits for no rank
        idle,         // ranks have entered a collective, which others need them to advance, and compute
        unfinished,   // all ranks have entered a collective, which does not complete
    };
    Kind kind = Kind::missing;
    std::vector<int> ranks;  // that cause it, in MPI_COMM_WORLD, ascending
    std::uint64_t age = 0;   // nanoseconds since the oldest wait that it explains began
    std::string sentence;    // "rank 5 (node1) has not called MPI_Ibcast on MPI_COMM_WORLD, ..."
};

// "mismatch"
const char* name(Finding::Kind kind);

}  // namespace lapwing::watch
