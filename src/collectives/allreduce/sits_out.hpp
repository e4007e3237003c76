// The list of a rank that a fold leaves out of an allreduce: it sends its input to its partner and receives
// the result.
#pragma once

#include "collectives/reduction/combine.hpp"

namespace lapwing::allreduce {

inline List build_sitting_out(const Problem& problem, int rank, int partner) {
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);
    Builder list(problem, rank, 5);
    const Span arrival = problem.in_place ? list.scratch(problem.bytes) : result;
    list.recv(partner, arrival);
    list.send(partner, reduction::sendable(list, own, result));
    list.wait(partner);
    list.copy(result, arrival);
    return list.finish();
}

}  // namespace lapwing::allreduce
