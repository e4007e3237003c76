#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <utility>

#include "simulate/networks/networks.hpp"

namespace lapwing::simulate {
namespace {

// Each host has a router. Links: out of the hosts, into them, and two of each router in each dimension.
class Grid : public Network {
  public:
    Grid(std::vector<int> extents, GridKind kind, int ranks_per_host, Time hop)
        : Network(std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>()), ranks_per_host,
                  hop),
          extents_(std::move(extents)),
          kind_(kind) {}

    std::uint32_t links() const override {
        return static_cast<std::uint32_t>(hosts()) * static_cast<std::uint32_t>(2 + 2 * extents_.size());
    }

    Hop next(std::int32_t place, std::int32_t to) const override {
        const std::int32_t count = hosts();
        if (place < count) return {.link = static_cast<std::uint32_t>(place), .node = count + place};
        const std::int32_t router = place - count;
        if (router == to) return {.link = static_cast<std::uint32_t>(count + to), .node = to};
        std::int32_t stride = 1;
        for (std::size_t d = 0; d < extents_.size(); ++d) {
            const int extent = extents_[d];
            const int here = router / stride % extent;
            const int there = to / stride % extent;
            if (here != there) {
                const int upwards = (there - here + extent) % extent;
                const bool up = kind_ == GridKind::mesh    ? there > here
                                : kind_ == GridKind::torus ? 2 * upwards <= extent
                                                           : true;
                const int beside = (here + (up ? 1 : extent - 1)) % extent;
                const auto link =
                    static_cast<std::uint32_t>(2 * count) +
                    static_cast<std::uint32_t>(router) * static_cast<std::uint32_t>(2 * extents_.size()) +
                    static_cast<std::uint32_t>(2 * d + (up ? 0 : 1));
                return {.link = link, .node = place + (beside - here) * stride};
            }
            stride *= extent;
        }
        return {};
    }

    std::string what() const override {
        const char* const kind = kind_ == GridKind::mesh    ? "mesh"
                                 : kind_ == GridKind::torus ? "torus"
                                                            : "one-way torus";
        return fmt::format("{} of {} hosts", kind, fmt::join(extents_, "x"));
    }

  private:
    std::vector<int> extents_;
    GridKind kind_;
};

}  // namespace

std::unique_ptr<Network> grid(std::vector<int> extents, GridKind kind, int ranks_per_host, Time hop) {
    return std::make_unique<Grid>(std::move(extents), kind, ranks_per_host, hop);
}

}  // namespace lapwing::simulate
