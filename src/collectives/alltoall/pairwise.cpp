// Alltoall by pairwise exchange with a communication window.
// Kandalla et al. 2011, "Improving Parallel 3D FFT Performance using Hardware Offloaded Collective
// Communication on Modern InfiniBand Clusters", section IV-B; Kaiser et al. 2009, "Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks", section 3.2.
//
// In each round the ranks form pairs that exchange blocks. A window is a batch of rounds: its sends, then as
// many waits, so that the traffic of one batch does not meet that of the next.
#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {
namespace {

constexpr Parameter parameters[] = {
    {"window", "rounds, each with one send, that are in flight together", 4, 1, 1 << 20}};

// Who meets whom: an exclusive or for powers of two, else the circle method of tournaments, in which an odd
// group leaves one rank idle in each round.
class Tournament {
  public:
    Tournament(int ranks, int rank)
        : rank_(rank),
          circle_(ranks % 2 == 0 ? ranks - 1 : ranks),
          last_(ranks - 1),
          power_of_two_(floor_power_of_two(ranks) == ranks),
          odd_(ranks % 2 != 0) {}

    int rounds() const { return circle_ == 1 && odd_ ? 0 : circle_; }

    // -1 when idle.
    int peer(int round) const {
        if (power_of_two_) return rank_ ^ (round + 1);
        if (!odd_ && rank_ == last_) return round % 2 == 0 ? round / 2 : (round + circle_) / 2;
        const int opposite = round - rank_ < 0 ? round - rank_ + circle_ : round - rank_;
        if (opposite != rank_) return opposite;
        return odd_ ? -1 : last_;
    }

  private:
    int rank_;
    int circle_;
    int last_;
    bool power_of_two_;
    bool odd_;
};

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters& values) {
    const Tournament tournament(problem.ranks, rank);
    const int rounds = tournament.rounds();
    const int window = static_cast<int>(std::min<std::int64_t>(values[0], std::max(1, rounds)));
    const auto block = [&](int r) { return static_cast<std::uint64_t>(r) * problem.bytes; };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(problem.ranks));
    for (int round = 0; round < rounds; ++round) {
        const int peer = tournament.peer(round);
        if (peer >= 0) list.recv(peer, out(block(peer), problem.bytes));
    }
    if (rounds == 0) list.copy(out(block(rank), problem.bytes), in(block(rank), problem.bytes));
    for (int first = 0; first < rounds; first += window) {
        const int end = std::min(rounds, first + window);
        for (int round = first; round < end; ++round) {
            const int peer = tournament.peer(round);
            if (peer >= 0) list.send(peer, in(block(peer), problem.bytes));
        }
        // The own block is copied while the first sends are on their way.
        if (first == 0) list.copy(out(block(rank), problem.bytes), in(block(rank), problem.bytes));
        for (int round = first; round < end; ++round) {
            const int peer = tournament.peer(round);
            if (peer >= 0) list.wait(peer);
        }
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    const int rounds = Tournament(problem.ranks, 0).rounds();
    const int window = static_cast<int>(std::min<std::int64_t>(values[0], std::max(1, rounds)));
    const double bytes = static_cast<double>(problem.bytes);
    return (rounds + window - 1) / window * machine.latency +
           (problem.ranks - 1) * (2 * machine.task + bytes * machine.per_byte);
}

}  // namespace

extern const Algorithm pairwise;
const Algorithm pairwise = {
    .collective = Collective::alltoall,
    .name = "pairwise",
    .summary = "exchange with one peer after the other, a window of them at a time",
    .source = "Kandalla et al. 2011 (P3DFFT), section IV-B; Kaiser et al. 2009, section 3.2",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoall
