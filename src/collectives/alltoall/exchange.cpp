#include "collectives/alltoall/exchange.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {
namespace {

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

// One rank's part, block by block. Blocks of no bytes do not travel.
class Exchange {
  public:
    Exchange(const Problem& problem, int rank)
        : problem_(problem),
          rank_(rank),
          list_(problem, rank, 3 * static_cast<std::uint64_t>(problem.ranks)) {}

    void recv(int peer) {
        const Span block = block_from(problem_, rank_, peer);
        if (block.length > 0) list_.recv(peer, block);
    }
    void send(int peer) {
        const Span block = block_to(problem_, rank_, peer);
        if (block.length > 0) list_.send(peer, block);
    }
    void wait(int peer) {
        if (block_from(problem_, rank_, peer).length > 0) list_.wait(peer);
    }
    void copy_own() { list_.copy(block_from(problem_, rank_, rank_), block_to(problem_, rank_, rank_)); }
    List finish() { return list_.finish(); }

  private:
    const Problem& problem_;
    int rank_;
    Builder list_;
};

}  // namespace

List build_flat(const Problem& problem, int rank) {
    const int ranks = problem.ranks;
    // Each rank begins with its neighbour, so that not all send to rank 0 first.
    const auto peer = [&](int distance) { return absolute_rank(distance, rank, ranks); };

    Exchange list(problem, rank);
    for (int d = 1; d < ranks; ++d) list.recv(peer(ranks - d));
    for (int d = 1; d < ranks; ++d) list.send(peer(d));
    list.copy_own();
    for (int d = 1; d < ranks; ++d) list.wait(peer(ranks - d));
    return list.finish();
}

List build_pairwise(const Problem& problem, int rank, std::int64_t most) {
    const Tournament tournament(problem.ranks, rank);
    const int rounds = tournament.rounds();
    const int window = static_cast<int>(std::min<std::int64_t>(most, std::max(1, rounds)));

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

double cost_of_flat(int ranks, double bytes, const Machine& machine) {
    const double all = bytes * (ranks - 1);
    // What arrives from many ranks at once beyond the network's buffers is dropped or held up and costs again
    // ("it will easily choke the network", Kandalla et al. 2011, P3DFFT, section IV-B).
    const double crowded = ranks > 2 ? std::max(0.0, all - machine.buffer) : 0;
    return machine.latency + (ranks - 1) * 2 * machine.task + all * machine.per_byte +
           0.25 * crowded * machine.per_byte;
}

double cost_of_pairwise(int ranks, double bytes, std::int64_t most, const Machine& machine) {
    // Of an odd number of ranks one sits out in each round, and its partner in the next has to wait for it.
    const int rounds = Tournament(ranks, 0).rounds();
    const int window = static_cast<int>(std::min<std::int64_t>(most, std::max(1, rounds)));
    return (rounds + window - 1) / window * machine.latency + (ranks - 1) * 2 * machine.task +
           rounds * bytes * machine.per_byte;
}

}  // namespace lapwing::alltoall
