// Every rank sends a block to each of its neighbours and waits for their blocks; neighbor_allgather sends the
// same block to all. A rank knows only its own neighbours, and therefore cannot save messages.
// Hoefler, Traeff 2009, "Sparse collective operations for MPI".
#include <algorithm>

#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::neighbor_alltoall {
namespace {

Span block(Space space, const Part& part) {
    return {space, part.offset, part.bytes};
}

// A rank's first block to itself is its first block from itself, and so on.
void copy_own(Builder& list, const Parts& parts, int rank) {
    const auto own = [&](const Part& part) { return part.peer == rank; };
    auto receive = parts.receives.begin();
    for (const Part& send : parts.sends) {
        if (!own(send)) continue;
        receive = std::find_if(receive, parts.receives.end(), own);
        if (receive == parts.receives.end()) return;
        list.copy(block(Space::out, *receive), block(Space::in, send));
        ++receive;
    }
}

List build(const Problem& problem, int rank, const Parameters&) {
    const Parts& parts = problem.parts_of(rank);
    const auto travels = [&](const Part& part) { return part.peer != rank && part.bytes > 0; };

    Builder list(problem, rank, 2 * parts.receives.size() + parts.sends.size());
    for (const Part& part : parts.receives) {
        if (travels(part)) list.recv(part.peer, block(Space::out, part));
    }
    for (const Part& part : parts.sends) {
        if (travels(part)) list.send(part.peer, block(Space::in, part));
    }
    copy_own(list, parts, rank);
    for (const Part& part : parts.receives) {
        if (travels(part)) list.wait(part.peer);
    }
    return list.finish();
}

// All ranks know only the number of ranks. No rank has more neighbours, unless it has one several times.
double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return machine.latency + (problem.ranks - 1) * 2 * machine.task;
}

}  // namespace

const Algorithm flat = {
    .summary = "start all sends and receives at once",
    .source = "Hoefler, Traeff 2009",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::neighbor_alltoall
