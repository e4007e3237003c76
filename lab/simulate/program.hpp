// The program of all ranks, a repeated sequence of actions; and the lateness of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// Time that a rank loses before each iteration, apart from work and noise.
struct Lateness {
    enum class Kind : std::uint8_t {
        none,
        uniform,  // each rank from 0 to `max`, at random for each iteration
        one       // rank `rank` by `max` in each iteration
    };
    Kind kind = Kind::none;
    Time max = 0;
    int rank = 0;
    std::uint64_t seed = 1;

    Time of(int rank, int iteration) const;
};

// `count` ranks from `first` on, modulo the number of ranks; all ranks if count is 0.
struct SomeRanks {
    int first = 0;
    int count = 0;

    bool has(int rank, int ranks) const {
        return count == 0 || (rank >= first ? rank - first : rank - first + ranks) < count;
    }
};

// One action of a program.
struct Action {
    enum class Kind : std::uint8_t { start, compute, wait };

    Kind kind = Kind::compute;
    int operation = 0;     // start: the collective, by its index
    int request = 0;       // start, wait: index, like MPI_Requests in an array
    Time work = 0;         // compute
    int tests = 0;         // compute: calls of MPI_Test for all requests, evenly spaced in the work
    SomeRanks ranks = {};  // compute: the ranks that do
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

struct Lists;

// A collective of a program: its lists, and the groups of ranks that run them.
//
// All ranks form groups of `lists->ranks` ranks, `stride` apart. With stride 1, a group has consecutive
// ranks; with the ranks of a row as stride, a group is a column. Each group runs the lists by itself. The
// first rank of a group runs list `rotation`, the next rank the next list, and so on: one set of lists serves
// every root.
struct Operation {
    const Lists* lists = nullptr;
    int stride = 1;
    int rotation = 0;
};

struct Program {
    int iterations = 1;
    // The actions of an iteration. Each started request must be waited for before it is started again and
    // before the end. Empty: start, `work` with `tests`, wait.
    std::vector<Action> actions = {};
    Time work = 0;
    int tests = 0;
    bool together = false;  // all ranks begin each iteration together
    Lateness lateness = {};

    std::vector<Action> steps() const;
};

// Returns the number of requests. Throws Error (invalid_argument) for invalid actions or an operation that
// does not exist.
int check(const std::vector<Action>& actions, int operations);
// Returns the maximum number of requests in flight.
int max_in_flight(const std::vector<Action>& actions);
// Returns the actions without overlap: each start is followed by its wait.
std::vector<Action> blocking(const std::vector<Action>& actions);
// Returns the computation time of one rank.
Time computation(const std::vector<Action>& actions, int rank, int ranks);
// Returns the collectives alone, in order, without computation.
std::vector<Action> communication(const std::vector<Action>& actions);

}  // namespace lapwing::simulate
