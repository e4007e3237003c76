// Allreduce in two levels: the leaders of each host combine the vectors of its ranks, the hosts combine their
// results, and the leaders send the result to the ranks of their host.
// Karonis et al. 2000, "Exploiting hierarchy in parallel computer networks to optimize collective operation
// performance"; Graham et al. 2011 (Cheetah); between hosts Thakur, Rabenseifner, Gropp 2005, section 4.5
// (reduce-scatter, then allgather).
//
// For a short vector on few hosts, each leader sends its combined vector to all other leaders: one step. A
// longer vector is cut into segments. Each segment has a home among the hosts, and an owner on every host,
// one of its leaders. The owners send their combined segments to the owner at home, which combines these and
// sends the result back. Every host therefore sends and receives the vector about twice at most, and the
// steps of different segments overlap.
//
// Either one rank combines a segment for all, or, in one step, all leaders combine in the order of the hosts.
// All ranks therefore have the same result to the last bit.
#include <cmath>

#include "collectives/reduction/combine.hpp"
#include "collectives/two_level.hpp"

namespace lapwing::allreduce {
namespace {

using namespace lapwing::two_level;
using reduction::Contributions;
using reduction::sendable;

constexpr Parameter parameters[] = {
    {"segment", "segment size in KiB", 128, 1, 1 << 20},
    {"leaders", "ranks of each host that share a long vector", 4, 1, 1024},
};
// More hosts than this do not use one step.
constexpr int max_hosts_in_one_step = 8;
// The shortest piece of a vector that is dealt to a host and leader.
constexpr std::int64_t min_piece = 4096;  // bytes

Segments segments_of(const Problem& problem, const Parameters& values) {
    const std::int64_t leaders = std::min<std::int64_t>(values[1], problem.placement->largest_host());
    const auto pieces = static_cast<std::int64_t>(
        problem.bytes / static_cast<std::uint64_t>(std::min(min_piece, values[0] << 10)));
    const std::int64_t dealt = std::clamp<std::int64_t>(
        pieces, 1, std::min<std::int64_t>(leaders * problem.placement->hosts(), 1024));
    // The number of leaders does not matter here: segments are dealt among the hosts first.
    Segments segments(problem, values[0], 1, static_cast<int>(dealt));
    segments.leaders = leaders;
    return segments;
}

bool in_one_step(const Problem& problem, const Segments& segments) {
    return segments.count() == 1 && problem.placement->hosts() <= max_hosts_in_one_step;
}

Verdict applies(const Problem& problem, const Parameters&) {
    if (const Verdict levels = has_levels(problem); !levels) return levels;
    if (const Verdict order = keeps_order(problem); !order) return order;
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(problem.placement->largest_host()) +
                                             static_cast<std::uint64_t>(problem.placement->hosts()) + 4);
}

// What one step and segments share.
class Levels {
  public:
    Levels(const Problem& problem, int rank)
        : problem_(problem),
          rank_(rank),
          seats_(problem),
          host_(seats_.host_of(rank)),
          local_(problem.placement->ranks_of(host_)),
          own_(input(problem, rank, 0, problem.bytes)),
          result_(out(0, problem.bytes)),
          list_(problem, rank) {}

  protected:
    std::size_t below() const { return static_cast<std::size_t>(problem_.placement->place_on_host(rank_)); }
    std::size_t others() const { return local_.size() - 1; }
    template <typename Visit>
    void for_each_other(Visit visit) const {
        for (const int r : local_) {
            if (r != rank_) visit(r);
        }
    }

    const Problem& problem_;
    int rank_;
    Seats seats_;
    int host_;
    std::span<const int> local_;
    Span own_;
    Span result_;
    Builder list_;
};

class OneStep : private Levels {
  public:
    using Levels::Levels;

    List run() {
        const int leader = seats_.rank_at(host_, 0);
        if (rank_ != leader) {
            const Span arrival = problem_.in_place ? list_.scratch(own_.length) : result_;
            list_.recv(leader, arrival);
            list_.send(leader, sendable(list_, own_, result_));
            list_.wait(leader);
            list_.copy(result_, arrival);
            return list_.finish();
        }
        const auto leader_of = [&](int host) { return seats_.rank_at(host, 0); };
        const auto hosts = static_cast<std::size_t>(seats_.hosts());
        const Span held = others() > 0 ? list_.scratch(own_.length) : own_;
        Contributions intra_node(list_, problem_.ordered, own_, others() > 0 ? held : Span{}, below(),
                                 others());
        std::size_t next = 0;
        for_each_other([&](int r) { list_.recv(r, intra_node.of(next++)); });
        Contributions inter_node(list_, true, held, problem_.in_place ? Span{} : result_,
                                 static_cast<std::size_t>(host_), hosts - 1);
        for (int d = 1; d < seats_.hosts(); ++d) {
            const int host = seats_.host_after(host_, -d);
            list_.recv(leader_of(host),
                       inter_node.of(static_cast<std::size_t>(host < host_ ? host : host - 1)));
        }

        for_each_other([&](int r) { list_.wait(r); });
        list_.copy(held, intra_node.combine(list_));
        const Span sent = sendable(list_, held, result_);
        for (int d = 1; d < seats_.hosts(); ++d) list_.send(leader_of(seats_.host_after(host_, d)), sent);
        for (int d = 1; d < seats_.hosts(); ++d) list_.wait(leader_of(seats_.host_after(host_, -d)));
        const Span combined = inter_node.combine(list_);
        for_each_other([&](int r) { list_.send(r, combined); });
        list_.copy(result_, combined);
        return list_.finish();
    }
};

class BySegments : private Levels {
  public:
    BySegments(const Problem& problem, int rank, const Segments& segments)
        : Levels(problem, rank), segments_(segments) {
        // Between two ranks, messages travel in this order.
        for (int s = 0; s < segments_.count(); ++s) (home(s) == host_ ? at_home_ : away_).push_back(s);
    }

    List run() {
        memory_ = problem_.in_place ? list_.scratch(own_.length) : result_;
        std::vector<Owned> owned_away = offer_inputs(away_);
        std::vector<Owned> owned_at_home = offer_inputs(at_home_);
        for (const Owned& at : owned_at_home) offer_partial_results(at);
        for (const auto* some : {&at_home_, &away_}) {
            for (const int s : *some) offer_result(s);
        }

        for (const auto* some : {&away_, &at_home_}) {
            for (const int s : *some) {
                if (!owns(s)) list_.send(owner(host_, s), sendable(list_, of(own_, s), of(result_, s)));
            }
        }
        for (auto& [s, contributions] : owned_away) {
            for_each_other([&](int r) { list_.wait(r); });
            const Span combined = contributions.combine(list_);
            list_.send(owner(home(s), s), sendable(list_, combined, of(result_, s)));
        }
        for (auto& [s, contributions] : owned_at_home) {
            for_each_other([&](int r) { list_.wait(r); });
            for (int d = 1; d < seats_.hosts(); ++d) list_.wait(owner(seats_.host_after(host_, -d), s));
            const Span combined = contributions.combine(list_);
            for (int d = 1; d < seats_.hosts(); ++d)
                list_.send(owner(seats_.host_after(host_, d), s), combined);
            for_each_other([&](int r) { list_.send(r, combined); });
            list_.copy(of(result_, s), combined);
        }
        for (const Owned& at : owned_away) {
            list_.wait(owner(home(at.segment), at.segment));
            for_each_other([&](int r) { list_.send(r, of(memory_, at.segment)); });
        }
        for (const auto* some : {&at_home_, &away_}) {
            for (const int s : *some) {
                if (!owns(s)) list_.wait(owner(host_, s));
            }
        }
        for (int s = 0; s < segments_.count(); ++s) {
            if (!owns(s) || home(s) != host_) list_.copy(of(result_, s), of(memory_, s));
        }
        return list_.finish();
    }

  private:
    // A segment that this rank combines.
    struct Owned {
        int segment;
        Contributions contributions;  // at home also of the other hosts, in rank order
    };

    int home(int s) const { return s % seats_.hosts(); }
    int owner(int host, int s) const { return segments_.owner(seats_, host, s / seats_.hosts()); }
    bool owns(int s) const { return owner(host_, s) == rank_; }
    Span of(Span vector, int s) const { return segments_.of(vector, s); }

    // Posts the receives of the inputs of this host's ranks.
    std::vector<Owned> offer_inputs(const std::vector<int>& segments) {
        std::vector<Owned> owned;
        for (const int s : segments) {
            if (!owns(s)) continue;
            const bool at_home = home(s) == host_;
            const auto hosts_below = static_cast<std::size_t>(at_home ? host_ : 0);
            const auto hosts = static_cast<std::size_t>(at_home ? seats_.hosts() - 1 : 0);
            owned.push_back(
                {s, Contributions(list_, problem_.ordered, of(own_, s), at_home ? of(result_, s) : Span{},
                                  hosts_below + below(), hosts + others())});
            std::size_t next = hosts_below;
            for_each_other([&](int r) { list_.recv(r, owned.back().contributions.of(next++)); });
        }
        return owned;
    }

    // Posts the receives of the other hosts' combined vectors, at home.
    void offer_partial_results(const Owned& at) {
        for (int d = 1; d < seats_.hosts(); ++d) {
            const int host = seats_.host_after(host_, -d);
            const std::size_t index = static_cast<std::size_t>(host) + (host < host_ ? 0 : others() - 1);
            list_.recv(owner(host, at.segment), at.contributions.of(index));
        }
    }

    void offer_result(int s) {
        if (!owns(s)) {
            list_.recv(owner(host_, s), of(memory_, s));
        } else if (home(s) != host_) {
            list_.recv(owner(home(s), s), of(memory_, s));
        }
    }

    const Segments& segments_;
    std::vector<int> away_;     // segments whose home is another host
    std::vector<int> at_home_;  // segments whose home is this host
    Span memory_;               // where results arrive
};

List build(const Problem& problem, int rank, const Parameters& values) {
    const Segments segments = segments_of(problem, values);
    if (in_one_step(problem, segments)) return OneStep(problem, rank).run();
    return BySegments(problem, rank, segments).run();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!has_levels(problem)) return 0;
    const Segments segments = segments_of(problem, values);
    const double bytes = static_cast<double>(problem.bytes);
    const double hosts = problem.placement->hosts();
    const double others = problem.placement->largest_host() - 1;
    const double combination = machine.copy_per_byte;
    if (in_one_step(problem, segments)) {
        return 2 * intra_node_messages(machine, others, bytes) +
               inter_node_messages(machine, hosts - 1, bytes) + (others + hosts - 1) * bytes * combination;
    }
    // Owners have as many segments each; a host's leaders share its link.
    const double count = segments.count();
    const double owners = std::min(static_cast<double>(segments.leaders), std::ceil(count / hosts));
    const double intra_node = intra_node_messages(machine, others * count / owners, bytes / count);
    const double at_home = std::ceil(count / hosts / owners);
    const double messages = (hosts - 1) * at_home + std::max(0.0, count / owners - at_home);
    const double moved = bytes * std::min(1.0, at_home * owners / count) * (hosts - 1);
    return 2 * intra_node + 2 * (machine.latency + messages * 2 * machine.task + moved * machine.per_byte) +
           (others * bytes / owners + moved / owners) * combination;
}

}  // namespace

const Algorithm two_level = {
    .summary = "leaders combine inside each host, then with each other, and send the result to their host",
    .source = "Karonis et al. 2000; Graham et al. 2011 (Cheetah); Thakur, Rabenseifner, Gropp 2005",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::allreduce
