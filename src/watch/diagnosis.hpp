// What the snapshots of all ranks of a job say together: which ranks have not entered a collective, which
// calls do not match, who waits for whom. Pure functions of data: no input, no output, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "watch/snapshot.hpp"

namespace lapwing::watch {

// One cause for which ranks wait.
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

// The causes before their consequences; empty if all ranks answer and none waits for another one. `answers`:
// by rank. Ranks that wait only because of another finding are in no finding.
std::vector<Finding> diagnose(std::span<const Answer> answers);

// For people: the findings, then each communicator with its collectives in flight and the ranks that have not
// entered, then each rank with the call that it is in. Long runs of equal ranks take one line.
std::string in_words(std::span<const Answer> answers, std::span<const Finding> findings);
// The same for tools: docs/reference describes the keys.
std::string as_json(std::span<const Answer> answers, std::span<const Finding> findings);

}  // namespace lapwing::watch
