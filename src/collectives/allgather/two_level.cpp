// Allgather in two levels: the ranks of a host exchange their blocks, and leaders send the blocks of their
// host to the leaders of all other hosts, which pass arriving blocks to the ranks of their host. Kandalla,
// Subramoni, Santhanaraman, Koop, Panda 2009, "Designing multi-leader-based Allgather algorithms for
// multi-core clusters"; Karonis et al. 2000.
//
// The ranks of a host are divided into runs, each with a leader that sends the blocks of its run. Every block
// therefore crosses to a host once, and blocks from one host are passed on while those from another arrive.
#include "collectives/two_level.hpp"
#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::allgather {
namespace {

using namespace lapwing::two_level;

constexpr Parameter parameters[] = {
    {"leaders", "ranks of each host that send and pass on blocks; 0: one for each 64 KiB of the host", 0, 0,
     1024}};
constexpr std::uint64_t bytes_of_leader = 64 << 10;

std::int64_t leaders_of(const Problem& problem, const Parameters& values) {
    if (values[0] != 0) return values[0];
    const auto largest = static_cast<std::uint64_t>(problem.placement->largest_host());
    return static_cast<std::int64_t>(
        std::clamp<std::uint64_t>(problem.bytes * largest / bytes_of_leader, 1, largest));
}

Verdict applies(const Problem& problem, const Parameters&) {
    if (const Verdict levels = has_levels(problem); !levels) return levels;
    if (problem.placement->has_runs()) return Verdict::yes();
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(problem.ranks));
}

class Exchange {
  public:
    Exchange(const Problem& problem, int rank, std::int64_t leaders)
        : problem_(problem),
          rank_(rank),
          leaders_(leaders),
          placement_(*problem.placement),
          seats_(problem),
          host_(placement_.host_of(rank)),
          local_(placement_.ranks_of(host_)),
          groups_(groups_of(host_)),
          group_(groups_.of_seat(placement_.place_on_host(rank))),
          leads_(groups_.leads(placement_.place_on_host(rank))),
          list_(problem, rank),
          // Blocks are collected in out if the blocks of a run are adjacent there.
          memory_(placement_.has_runs()
                      ? out(0, problem.bytes * static_cast<std::uint64_t>(problem.ranks))
                      : list_.scratch(problem.bytes * static_cast<std::uint64_t>(problem.ranks))) {}

    List run() {
        for_each_other([&](int r) { list_.recv(r, blocks_from(r, 1)); });
        if (leads_) {
            for_each_remote(group_, [&](int host, int group) {
                list_.recv(leader(host, group), blocks_of_group(host, group));
            });
        }
        for_each_other_leader([&](int other) {
            for_each_remote(other, [&](int host, int group) {
                list_.recv(leader(host_, other), blocks_of_group(host, group));
            });
        });

        const Span own = input(problem_, rank_, 0, problem_.bytes);
        list_.copy(blocks_from(rank_, 1), own);
        for_each_other([&](int r) { list_.send(r, blocks_from(rank_, 1)); });
        if (leads_) lead();
        for_each_other([&](int r) {
            if (!leads_ || group_of(r) != group_) list_.wait(r);
        });
        for_each_other_leader(
            [&](int other) { for_each_remote(other, [&](int, int) { list_.wait(leader(host_, other)); }); });
        if (memory_.space == Space::scratch) {
            for (const int r : placement_.order()) {
                list_.copy(out(static_cast<std::uint64_t>(r) * problem_.bytes, problem_.bytes),
                           blocks_from(r, 1));
            }
        }
        return list_.finish();
    }

  private:
    void lead() {
        for_each_other([&](int r) {
            if (group_of(r) == group_) list_.wait(r);
        });
        for (int d = 1; d < placement_.hosts(); ++d) {
            const int host = host_after(d);
            list_.send(leader(host, group_ % groups_of(host).count()), blocks_of_group(host_, group_));
        }
        for_each_remote(group_, [&](int host, int group) {
            list_.wait(leader(host, group));
            for_each_other([&](int r) { list_.send(r, blocks_of_group(host, group)); });
        });
    }

    SeatGroups groups_of(int host) const { return {seats_.ranks_on(host), leaders_}; }
    int group_of(int local_rank) const { return groups_.of_seat(placement_.place_on_host(local_rank)); }
    int leader(int host, int group) const { return seats_.rank_at(host, groups_of(host).begin(group)); }
    int host_after(int distance) const { return seats_.host_after(host_, distance); }

    // The blocks of `count` ranks from `first` on.
    Span blocks_from(int first, int count) const {
        const int at = memory_.space == Space::out ? first : placement_.place(first);
        return memory_.part(static_cast<std::uint64_t>(at) * problem_.bytes,
                            static_cast<std::uint64_t>(count) * problem_.bytes);
    }
    Span blocks_of_group(int host, int group) const {
        return blocks_from(leader(host, group), groups_of(host).size(group));
    }

    template <typename Visit>
    void for_each_other(Visit visit) const {
        for (const int r : local_) {
            if (r != rank_) visit(r);
        }
    }
    template <typename Visit>
    void for_each_other_leader(Visit visit) const {
        for (int group = 0; group < groups_.count(); ++group) {
            if (leader(host_, group) != rank_) visit(group);
        }
    }
    // The groups of other hosts whose blocks the leader of group `receiving` of this host receives.
    template <typename Visit>
    void for_each_remote(int receiving, Visit visit) const {
        for (int d = 1; d < placement_.hosts(); ++d) {
            const int host = host_after(-d);
            const int count = groups_of(host).count();
            for (int group = receiving; group < count; group += groups_.count()) visit(host, group);
        }
    }

    const Problem& problem_;
    int rank_;
    std::int64_t leaders_;
    const Placement& placement_;
    Seats seats_;
    int host_;
    std::span<const int> local_;
    SeatGroups groups_;
    int group_;
    bool leads_;
    Builder list_;
    Span memory_;
};

List build(const Problem& problem, int rank, const Parameters& values) {
    return Exchange(problem, rank, leaders_of(problem, values)).run();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!has_levels(problem)) return 0;
    const Placement& placement = *problem.placement;
    const double bytes = static_cast<double>(problem.bytes);
    const double local = placement.largest_host();
    const double leaders = std::min(local, static_cast<double>(leaders_of(problem, values)));
    const double hosts = placement.hosts();
    // All blocks reach a host over one link, from many hosts at once, as in the flat alltoall.
    const double inter_node = (problem.ranks - placement.smallest_host()) * bytes;
    const double crowded = hosts > 2 ? std::max(0.0, inter_node - machine.buffer) : 0;
    const double handed_out = intra_node_messages(machine, (local - 1) * (hosts - 1), 0) +
                              (local - 1) * inter_node * machine.intra_node_per_byte / leaders;
    const double unpacked =
        placement.has_runs() ? 0 : problem.ranks * (machine.copy + bytes * machine.copy_per_byte);
    return intra_node_messages(machine, local - 1, bytes) + inter_node_messages(machine, hosts - 1, 0) +
           (inter_node + 0.25 * crowded) * machine.per_byte + handed_out + unpacked;
}

}  // namespace

const Algorithm two_level = {
    .summary = "leaders send the blocks of their host to all other hosts, and pass on arriving blocks",
    .source = "Kandalla et al. 2009 (multi-leader allgather); Karonis et al. 2000",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::allgather
