// Gather by sequential transmission: like flat, but the root signals each rank when it may send.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

constexpr Parameter parameters[] = {{"window", "ranks that may send at the same time", 1, 1, 1 << 20}};

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters& values) {
    const int root = problem.root;
    if (rank != root) {
        Builder list(problem, rank, 3);
        list.recv(root);
        list.wait(root);
        list.send(root, in(0, problem.bytes));
        return list.finish();
    }
    const auto sender = [&](int turn) { return absolute_rank(turn, root, problem.ranks); };
    const auto block = [&](int r) {
        return out(static_cast<std::uint64_t>(r) * problem.bytes, problem.bytes);
    };
    const int window = static_cast<int>(std::min<std::int64_t>(values[0], problem.ranks - 1));

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(problem.ranks));
    for (int turn = 1; turn < problem.ranks; ++turn) list.recv(sender(turn), block(sender(turn)));
    for (int turn = 1; turn <= window; ++turn) list.send(sender(turn));
    if (!problem.in_place) list.copy(block(rank), in(0, problem.bytes));
    for (int turn = 1; turn < problem.ranks; ++turn) {
        list.wait(sender(turn));
        if (turn + window < problem.ranks) list.send(sender(turn + window));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    const double window = static_cast<double>(values[0]);
    return 2 * machine.latency +
           (problem.ranks - 1) * (2 * machine.latency / window + 2 * machine.task + bytes * machine.per_byte);
}

}  // namespace

extern const Algorithm sequential;
const Algorithm sequential = {
    .collective = Collective::gather,
    .name = "sequential",
    .summary = "the root signals one rank after the other to send",
    .source = "Kaiser et al. 2009, section 3.1",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
