// Networks without switches that messages share.
#include <fmt/format.h>

#include <utility>

#include "simulate/networks/networks.hpp"

namespace lapwing::simulate {
namespace {

// Links: out of the hosts, and into them.
class Crossbar : public Network {
  public:
    Crossbar(int hosts, int ranks_per_host) : Network(hosts, ranks_per_host, 0) {}

    std::uint32_t links() const override { return 2 * static_cast<std::uint32_t>(hosts()); }
    Hop next(std::int32_t place, std::int32_t to, std::int32_t) const override {
        if (place < hosts()) return {.link = static_cast<std::uint32_t>(place), .node = hosts()};
        return {.link = static_cast<std::uint32_t>(hosts() + to), .node = to};
    }
    std::string what() const override { return fmt::format("crossbar of {} hosts", hosts()); }
};

// Nodes: the hosts, the outer end of each host's outgoing port, and one node before all incoming ports.
// Links: outgoing ports, incoming ports, pairs.
class Unequal : public Network {
  public:
    Unequal(std::vector<double> ports, std::vector<double> pairs, Time hop)
        : Network(static_cast<int>(ports.size()), 1, hop),
          ports_(std::move(ports)),
          pairs_(std::move(pairs)) {}

    std::uint32_t links() const override { return count() * (2 + count()); }
    Hop next(std::int32_t node, std::int32_t to, std::int32_t) const override {
        if (node < hosts()) return {.link = static_cast<std::uint32_t>(node), .node = hosts() + node};
        const auto target = static_cast<std::uint32_t>(to);
        if (node == 2 * hosts()) return {.link = count() + target, .node = to};
        const auto from = static_cast<std::uint32_t>(node - hosts());
        return {.link = count() * (2 + from) + target, .node = 2 * hosts()};
    }
    double slowness(std::uint32_t link) const override {
        return link < 2 * count() ? ports_[link % count()] : pairs_[link - 2 * count()];
    }
    std::string what() const override {
        return fmt::format("network of {} hosts with unequal links", hosts());
    }

  private:
    std::uint32_t count() const { return static_cast<std::uint32_t>(hosts()); }

    std::vector<double> ports_;
    std::vector<double> pairs_;
};

}  // namespace

std::unique_ptr<Network> crossbar(int hosts, int ranks_per_host) {
    return std::make_unique<Crossbar>(hosts, ranks_per_host);
}

std::unique_ptr<Network> unequal(std::vector<double> ports, std::vector<double> pairs, Time hop) {
    return std::make_unique<Unequal>(std::move(ports), std::move(pairs), hop);
}

}  // namespace lapwing::simulate
