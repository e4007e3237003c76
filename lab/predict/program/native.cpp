#include "predict/program/native.hpp"

#include "collectives/catalogue.hpp"
#include "plan/selection.hpp"

namespace lapwing::tool {
namespace {

constexpr std::uint64_t kibi = 1024;

const char* algorithm_of(const Problem& problem, bool blocking) {
    const auto ranks = static_cast<std::uint64_t>(problem.ranks);
    const std::uint64_t bytes = problem.bytes;
    switch (problem.collective) {
        case Collective::barrier:
            return blocking ? "recursive_doubling" : "dissemination";
        case Collective::broadcast:
            return bytes < 64 * kibi || (!blocking && ranks < 5) ? "binomial" : "scatter_ring";
        case Collective::gather:
            return blocking && bytes < 6000 && ranks > 10 ? "binomial" : "flat";
        case Collective::scatter:
            return blocking && bytes < 300 && ranks > 10 ? "binomial" : "flat";
        case Collective::allgather:
            return !blocking ? "flat" : bytes * ranks < 50000 ? "recursive_doubling" : "ring";
        case Collective::allgatherv:
            return !blocking ? "flat" : bytes * ranks < 50000 ? "bruck" : "ring";
        case Collective::alltoall:
            if (!blocking) return ranks > 8 && bytes < 4 * kibi ? "bruck" : "flat";
            return bytes < 200 && ranks > 12 ? "bruck" : bytes < 3000 ? "flat" : "pairwise";
        case Collective::alltoallv:
            return blocking ? "pairwise" : "flat";
        case Collective::reduce:
            return "binomial";
        case Collective::allreduce:
            return bytes < (blocking ? 10000 : 64 * kibi) || (!blocking && ranks < 4) ? "recursive_doubling"
                                                                                      : "ring";
        case Collective::reduce_scatter:
            return !blocking || bytes * ranks < 64 * kibi ? "recursive_halving" : "ring";
        case Collective::reduce_scatter_block:
            return "recursive_halving";
        case Collective::scan:
        case Collective::exscan:
            return "linear";
        default:
            return "flat";
    }
}

}  // namespace

Choice native_choice(const Problem& problem, bool blocking) {
    const Choice choice = parse_choice(problem.collective, algorithm_of(problem, blocking));
    if (choice.algorithm->applies(problem, choice.parameters)) return choice;
    return select(problem, {}, {}).choice;
}

}  // namespace lapwing::tool
