#include <fmt/format.h>

#include "simulate/networks/networks.hpp"
#include "simulate/random.hpp"

namespace lapwing::simulate {
namespace {

// Places: hosts, then routers, group by group. Links: out of the hosts, into them, from each router to each
// of its group, from each group to each other.
class Dragonfly : public Network {
  public:
    Dragonfly(int groups, int routers, int hosts_of_router, bool valiant, int ranks_per_host, Time hop)
        : Network(groups * routers * hosts_of_router, ranks_per_host, hop),
          groups_(groups),
          routers_(routers),
          hosts_of_router_(hosts_of_router),
          valiant_(valiant) {}

    std::uint32_t links() const override {
        return first_global() + static_cast<std::uint32_t>(groups_ * groups_);
    }

    std::int32_t via(std::int32_t from, std::int32_t to, std::uint32_t message) const override {
        const int source = group_of_host(from);
        const int target = group_of_host(to);
        if (!valiant_ || source == target || groups_ < 3) return -1;
        // One of those that are neither.
        auto group = static_cast<int>(random_bits(0, 0, message) % static_cast<std::uint64_t>(groups_ - 2));
        if (group >= std::min(source, target)) ++group;
        if (group >= std::max(source, target)) ++group;
        return group;
    }

    Hop next(std::int32_t place, std::int32_t to, std::int32_t via) const override {
        if (place < hosts()) {
            return {.link = static_cast<std::uint32_t>(place),
                    .node = hosts() + place / hosts_of_router_,
                    .via = via};
        }
        const int router = place - hosts();
        const int group = router / routers_;
        const int target = via >= 0 ? via : group_of_host(to);
        if (group != target) {
            const int gate = gate_of(group, target);
            if (gate != router) return to_router(router, gate, via);
            const int beyond = gate_of(target, group);
            return {.link = first_global() + static_cast<std::uint32_t>(group * groups_ + target),
                    .node = hosts() + beyond,
                    .via = target == via ? -1 : via};
        }
        const int last = to / hosts_of_router_;
        if (last != router) return to_router(router, last, -1);
        return {.link = static_cast<std::uint32_t>(hosts() + to), .node = to};
    }

    std::string what() const override {
        return fmt::format("dragonfly of {} groups, {} routers in each, {} hosts at each{}", groups_,
                           routers_, hosts_of_router_, valiant_ ? ", Valiant's routes" : "");
    }

  private:
    int group_of_host(std::int32_t host) const { return host / (routers_ * hosts_of_router_); }
    std::uint32_t first_local() const { return 2 * static_cast<std::uint32_t>(hosts()); }
    std::uint32_t first_global() const {
        return first_local() + static_cast<std::uint32_t>(groups_ * routers_ * routers_);
    }
    // The router of a group that has the link to another one. They are dealt out evenly.
    int gate_of(int group, int target) const {
        const std::int64_t number = (target - group - 1 + groups_) % groups_;
        return group * routers_ + static_cast<int>(number * routers_ / (groups_ - 1));
    }
    Hop to_router(int router, int other, std::int32_t via) const {
        return {.link = first_local() + static_cast<std::uint32_t>(router * routers_ + other % routers_),
                .node = hosts() + other,
                .via = via};
    }

    int groups_;
    int routers_;
    int hosts_of_router_;
    bool valiant_;
};

}  // namespace

std::unique_ptr<Network> dragonfly(int groups, int routers, int hosts_of_router, bool valiant,
                                   int ranks_per_host, Time hop) {
    return std::make_unique<Dragonfly>(groups, routers, hosts_of_router, valiant, ranks_per_host, hop);
}

}  // namespace lapwing::simulate
