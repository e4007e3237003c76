// Alltoall in two levels: the ranks of a host give a leader their blocks for a rank of another host, and the
// leader sends all these blocks as one message. For short blocks: inter-node messages then carry more bytes.
// Träff, Rougier 2014, "MPI collectives and datatypes for hierarchical all-to-all communication"; Graham et
// al. 2011 (Cheetah).
//
// If a host has L leaders, its leader k serves the ranks at seats k, k + L, k + 2L, ... of every other host.
// The leader collects the blocks for these ranks, in the order of the message, and sends one message to the
// rank at seat k of each other host. That rank passes on the blocks of other ranks. With as many leaders as
// ranks, the default, every message ends at the rank that its blocks are for.
#include "collectives/two_level.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {
namespace {

using namespace lapwing::two_level;

constexpr Parameter parameters[] = {
    {"leaders", "ranks of each host that collect, send and pass on blocks; 0: all", 0, 0, 1024}};

int leaders_on(const Placement& placement, int host, std::int64_t leaders) {
    const auto ranks = static_cast<std::int64_t>(placement.ranks_of(host).size());
    return static_cast<int>(leaders == 0 ? ranks : std::min(leaders, ranks));
}

Verdict applies(const Problem& problem, const Parameters& values) {
    if (const Verdict levels = has_levels(problem); !levels) return levels;
    const Placement& placement = *problem.placement;
    // A message holds blocks of all ranks of one host, for several ranks of the other.
    const auto most = static_cast<std::uint64_t>(placement.largest_host());
    const auto smallest = static_cast<std::uint64_t>(placement.smallest_host());
    const std::uint64_t least =
        values[0] == 0 ? smallest : std::min(static_cast<std::uint64_t>(values[0]), smallest);
    const std::uint64_t for_one = (most + least - 1) / least;
    return within_scratch(problem.bytes, 2 * most * for_one * static_cast<std::uint64_t>(placement.hosts()));
}

class Exchange {
  public:
    Exchange(const Problem& problem, int rank, std::int64_t leaders)
        : problem_(problem),
          rank_(rank),
          leaders_(leaders),
          placement_(*problem.placement),
          seats_(problem),
          hosts_(placement_.hosts()),
          host_(placement_.host_of(rank)),
          seat_(placement_.place_on_host(rank)),
          local_(placement_.ranks_of(host_)),
          own_leaders_(leaders_on(placement_, host_, leaders)),
          list_(problem, rank, 6 * static_cast<std::uint64_t>(problem.ranks)) {}

    List run() {
        offer();
        list_.copy(block_from(problem_, rank_, rank_), block_to(problem_, rank_, rank_));
        for (int d = 1; d < hosts_ && seat_ < own_leaders_; ++d) copy_own_share(d);
        for_each_other([&](int r, int) { list_.send(r, block_to(problem_, rank_, r)); });
        for_each_other([&](int r, int seat) { give(r, seat); });

        // The blocks of the host's ranks for this rank arrive before the blocks that it collects.
        std::uint64_t first = 1;
        for (int d = 1; d < hosts_; ++d) {
            const Span message = collected_[static_cast<std::size_t>(d)];
            if (message.length == 0) continue;
            const std::uint64_t each = shares(host_after(d), seat_, own_leaders_) + first;
            first = 0;
            for_each_other([&](int r, int) { list_.wait(r, each); });
            list_.send(rank_at(host_after(d), seat_), message);
        }
        if (first > 0) for_each_other([&](int r, int) { list_.wait(r); });

        for (int d = 1; d < hosts_; ++d) hand_on(d);
        for (int d = 1; d < hosts_; ++d) {
            const Arrival& arrival = arrivals_[static_cast<std::size_t>(d)];
            if (arrival.from >= 0 && !arrival.inter_node) list_.wait(arrival.from);
        }
        for (int d = 1; d < hosts_; ++d) unpack(d);
        return list_.finish();
    }

  private:
    struct Arrival {
        int from = -1;
        bool inter_node = false;
        Span message;           // the whole message
        bool in_place = false;  // the message arrives where its blocks belong
    };

    int host_after(int distance) const { return seats_.host_after(host_, distance); }
    int ranks_on(int host) const { return seats_.ranks_on(host); }
    int rank_at(int host, int seat) const { return seats_.rank_at(host, seat); }
    // The number of ranks of `host` that leader k of another host with `leaders` leaders serves.
    std::uint64_t shares(int host, int k, int leaders) const {
        return k >= leaders || k >= ranks_on(host)
                   ? 0
                   : static_cast<std::uint64_t>((ranks_on(host) - 1 - k) / leaders + 1);
    }
    // Bytes that one rank gets from all ranks of a host.
    std::uint64_t share_of(int host) const {
        return problem_.bytes * static_cast<std::uint64_t>(ranks_on(host));
    }

    template <typename Visit>
    void for_each_other(Visit visit) const {
        for (int seat = 0; seat < static_cast<int>(local_.size()); ++seat) {
            if (seat != seat_) visit(local_[static_cast<std::size_t>(seat)], seat);
        }
    }
    // Calls visit(rank, number of its share) for the ranks of `host` that leader k of this host serves.
    template <typename Visit>
    void for_each_share(int host, int k, Visit visit) const {
        std::uint64_t number = 0;
        for (int seat = k; seat < ranks_on(host); seat += own_leaders_) visit(rank_at(host, seat), number++);
    }
    // Where the block of the local rank at `seat` belongs in the message for a host.
    Span collected(int distance, std::uint64_t share, int seat) const {
        return collected_[static_cast<std::size_t>(distance)].part(
            share * share_of(host_) + static_cast<std::uint64_t>(seat) * problem_.bytes, problem_.bytes);
    }

    // Posts all receives. From each local rank: first its block for this rank, then the blocks that this rank
    // collects, then the blocks that it passes on.
    void offer() {
        collected_.resize(static_cast<std::size_t>(hosts_));
        arrivals_.resize(static_cast<std::size_t>(hosts_));
        for_each_other([&](int r, int) { list_.recv(r, block_from(problem_, rank_, r)); });
        for (int d = 1; d < hosts_; ++d) {
            const std::uint64_t count = shares(host_after(d), seat_, own_leaders_);
            if (count > 0) collected_[static_cast<std::size_t>(d)] = list_.scratch(count * share_of(host_));
        }
        for (int d = 1; d < hosts_; ++d) {
            for (std::uint64_t share = 0; share < shares(host_after(d), seat_, own_leaders_); ++share) {
                for_each_other([&](int r, int seat) { list_.recv(r, collected(d, share, seat)); });
            }
        }
        for (int d = 1; d < hosts_; ++d) offer_arrival(d);
    }

    void offer_arrival(int distance) {
        const int host = host_after(-distance);
        const int leaders = leaders_on(placement_, host, leaders_);
        Arrival& arrival = arrivals_[static_cast<std::size_t>(distance)];
        arrival.inter_node = seat_ < leaders;
        arrival.from = arrival.inter_node ? rank_at(host, seat_) : rank_at(host_, seat_ % leaders);
        const std::uint64_t count = arrival.inter_node ? shares(host_, seat_, leaders) : 1;
        arrival.in_place = count == 1 && placement_.has_runs();
        arrival.message =
            arrival.in_place
                ? out(static_cast<std::uint64_t>(rank_at(host, 0)) * problem_.bytes, share_of(host))
                : list_.scratch(count * share_of(host));
        list_.recv(arrival.from, arrival.message);
    }

    void copy_own_share(int distance) {
        for_each_share(host_after(distance), seat_, [&](int r, std::uint64_t share) {
            list_.copy(collected(distance, share, seat_), block_to(problem_, rank_, r));
        });
    }

    // Sends another leader the blocks of this rank that the leader collects.
    void give(int leader, int seat) {
        if (seat >= own_leaders_) return;
        for (int d = 1; d < hosts_; ++d) {
            for_each_share(host_after(d), seat,
                           [&](int r, std::uint64_t) { list_.send(leader, block_to(problem_, rank_, r)); });
        }
    }

    void hand_on(int distance) {
        const Arrival& arrival = arrivals_[static_cast<std::size_t>(distance)];
        if (!arrival.inter_node) return;
        list_.wait(arrival.from);
        const int host = host_after(-distance);
        const int leaders = leaders_on(placement_, host, leaders_);
        std::uint64_t share = 1;
        for (int seat = seat_ + leaders; seat < static_cast<int>(local_.size()); seat += leaders) {
            list_.send(rank_at(host_, seat), arrival.message.part(share++ * share_of(host), share_of(host)));
        }
    }

    void unpack(int distance) {
        const Arrival& arrival = arrivals_[static_cast<std::size_t>(distance)];
        if (arrival.in_place) return;
        const int host = host_after(-distance);
        for (int seat = 0; seat < ranks_on(host); ++seat) {
            list_.copy(
                block_from(problem_, rank_, rank_at(host, seat)),
                arrival.message.part(static_cast<std::uint64_t>(seat) * problem_.bytes, problem_.bytes));
        }
    }

    const Problem& problem_;
    int rank_;
    std::int64_t leaders_;
    const Placement& placement_;
    Seats seats_;
    int hosts_;
    int host_;
    int seat_;
    std::span<const int> local_;
    int own_leaders_;
    Builder list_;
    std::vector<Span> collected_;    // by the distance of the destination host
    std::vector<Arrival> arrivals_;  // by the distance of the source host
};

List build(const Problem& problem, int rank, const Parameters& values) {
    return Exchange(problem, rank, values[0]).run();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!has_levels(problem)) return 0;
    const Placement& placement = *problem.placement;
    const double bytes = static_cast<double>(problem.bytes);
    const double local = placement.largest_host();
    const double leaders = values[0] == 0 ? local : std::min(local, static_cast<double>(values[0]));
    const double remote = problem.ranks - placement.smallest_host();
    // Messages that a leader receives from its host, and that it passes on.
    const double given = local - 1 + (local - 1) * remote / leaders;
    const double handed_on = (local / leaders - 1) * (placement.hosts() - 1);
    const double inter_node = local * remote * bytes;  // over the link of a host
    const double crowded = placement.hosts() > 2 ? std::max(0.0, inter_node - machine.buffer) : 0;
    return intra_node_messages(machine, given, bytes) +
           inter_node_messages(machine, placement.hosts() - 1, 0) +
           (inter_node + 0.25 * crowded) * machine.per_byte + remote / leaders * machine.copy +
           (handed_on > 0 ? intra_node_messages(machine, handed_on, local * bytes) : 0);
}

}  // namespace

const Algorithm two_level = {
    .summary = "leaders send all blocks of their host for a rank of another host as one message",
    .source = "Träff, Rougier 2014; Graham et al. 2011 (Cheetah)",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::alltoall
