// What each rank does: a program of steps, again and again; and ranks that come late.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// Before a rank begins an iteration it loses time that is neither work nor noise.
struct Lateness {
    enum class Kind : std::uint8_t {
        none,
        uniform,  // each rank from nothing to `most`, drawn anew each time
        one       // rank `rank` by `most`, each time
    };
    Kind kind = Kind::none;
    Time most = 0;
    int rank = 0;
    std::uint64_t seed = 1;

    Time of(int rank, int iteration) const;
};

// Some of the ranks: `count` from `first` on, behind the last one the first; all where count is 0.
struct SomeRanks {
    int first = 0;
    int count = 0;

    bool has(int rank, int ranks) const {
        return count == 0 || (rank >= first ? rank - first : rank - first + ranks) < count;
    }
};

// One line of a program. All ranks have the same lines; what they compute may differ.
struct Action {
    enum class Kind : std::uint8_t { start, compute, wait };

    Kind kind = Kind::compute;
    int operation = 0;     // start: the collective, by its index
    int request = 0;       // start, wait: numbered from 0 on, like MPI_Requests in an array
    Time work = 0;         // compute
    int tests = 0;         // compute: calls of MPI_Test, for all requests, at even distances in the work
    SomeRanks ranks = {};  // compute: who does
};

inline Action start(int operation, int request = 0) {
    return {.kind = Action::Kind::start, .operation = operation, .request = request};
}
inline Action compute(Time work, int tests = 0, SomeRanks ranks = {}) {
    return {.kind = Action::Kind::compute, .work = work, .tests = tests, .ranks = ranks};
}
inline Action wait(int request = 0) {
    return {.kind = Action::Kind::wait, .request = request};
}

struct Program {
    int iterations = 1;
    // Of an iteration; each request that is started is waited for before it is started again and before the
    // end. Empty: start, the work with its tests, wait.
    std::vector<Action> actions = {};
    Time work = 0;
    int tests = 0;
    bool together = false;  // no rank begins an iteration before all have ended the one before
    Lateness lateness = {};

    std::vector<Action> steps() const;
};

// How many requests the actions have. Throws Error (invalid_argument) for actions that are not as above or
// name an operation that there is not.
int check(const std::vector<Action>& actions, int operations);
// The most requests that are started and not waited for at one time.
int max_in_flight(const std::vector<Action>& actions);
// The same without overlap: each start is followed by its wait.
std::vector<Action> blocking(const std::vector<Action>& actions);
// What one rank computes, and only that.
Time computation(const std::vector<Action>& actions, int rank, int ranks);
// Its collectives, in their order, without computation.
std::vector<Action> communication(const std::vector<Action>& actions);

}  // namespace lapwing::simulate
