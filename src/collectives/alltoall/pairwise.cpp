// Alltoall by pairwise exchange: in each round the ranks form pairs that exchange blocks. A window is a batch
// of rounds: its sends, then as many waits. The traffic of one batch therefore does not meet that of the
// next. Kandalla et al. 2011, "Improving Parallel 3D FFT Performance using Hardware Offloaded Collective
// Communication on Modern InfiniBand Clusters", section IV-B; Kaiser et al. 2009, "Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks", section 3.2.
#include <algorithm>

#include "collectives/alltoall/exchange.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"

namespace lapwing::alltoall {
namespace {

constexpr Parameter parameters[] = {
    {"window", "rounds in flight at the same time, each with one send", 4, 1, 1 << 20}};

// The pairs of each round: by exclusive or for powers of two, else by the circle method of tournaments. In a
// group of odd size, one rank is idle in each round.
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

List build(const Problem& problem, int rank, const Parameters& values) {
    const Tournament tournament(problem.ranks, rank);
    const int rounds = tournament.rounds();
    const int window = static_cast<int>(std::min<std::int64_t>(values[0], std::max(1, rounds)));

    Exchange list(problem, rank);
    for (int round = 0; round < rounds; ++round) {
        if (const int peer = tournament.peer(round); peer >= 0) list.recv(peer);
    }
    if (rounds == 0) list.copy_own();
    for (int first = 0; first < rounds; first += window) {
        const int end = std::min(rounds, first + window);
        for (int round = first; round < end; ++round) {
            if (const int peer = tournament.peer(round); peer >= 0) list.send(peer);
        }
        // The own block is copied while the first sends are on their way.
        if (first == 0) list.copy_own();
        for (int round = first; round < end; ++round) {
            if (const int peer = tournament.peer(round); peer >= 0) list.wait(peer);
        }
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    // In a group of odd size one rank is idle in each round, and its partner of the next round waits for it.
    const int rounds = Tournament(problem.ranks, 0).rounds();
    const int window = static_cast<int>(std::min<std::int64_t>(values[0], std::max(1, rounds)));
    return (rounds + window - 1) / window * machine.latency + (problem.ranks - 1) * 2 * machine.task +
           rounds * longest_block(problem) * machine.per_byte;
}

}  // namespace

const Algorithm pairwise = {
    .summary = "exchange with one peer after the other, a window of them at a time",
    .source = "Kandalla et al. 2011 (P3DFFT), section IV-B; Kaiser et al. 2009, section 3.2",
    .parameters = parameters,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoall
