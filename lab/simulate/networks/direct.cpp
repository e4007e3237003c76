// Networks without switches that messages share.
#include <fmt/format.h>

#include "simulate/networks/networks.hpp"

namespace lapwing::simulate {
namespace {

// Links: out of the hosts, and into them.
class Crossbar : public Network {
  public:
    Crossbar(int hosts, int ranks_per_host) : Network(hosts, ranks_per_host, 0) {}

    std::uint32_t links() const override { return 2 * static_cast<std::uint32_t>(hosts()); }
    Hop next(std::int32_t place, std::int32_t to) const override {
        if (place < hosts()) return {.link = static_cast<std::uint32_t>(place), .node = hosts()};
        return {.link = static_cast<std::uint32_t>(hosts() + to), .node = to};
    }
    std::string what() const override { return fmt::format("crossbar of {} hosts", hosts()); }
};

}  // namespace

std::unique_ptr<Network> crossbar(int hosts, int ranks_per_host) {
    return std::make_unique<Crossbar>(hosts, ranks_per_host);
}

}  // namespace lapwing::simulate
