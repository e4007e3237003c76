#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "simulate/networks/networks.hpp"

namespace lapwing::simulate {
namespace {

// A node of level l is host / (product of down[0..l-1]), all that is below it taken as one, and one of
// (product of up[0..l-1]) switches that are there for the same hosts. Hosts are level 0.
class FatTree : public Network {
  public:
    FatTree(std::vector<int> down, std::vector<int> up, int ranks_per_host, Time hop)
        : Network(std::accumulate(down.begin(), down.end(), 1, std::multiplies<>()), ranks_per_host, hop),
          down_(std::move(down)),
          up_(std::move(up)) {
        std::int32_t below = 1;  // hosts below a node
        std::int32_t alike = 1;  // nodes above the same hosts
        std::int32_t place = 0;
        for (std::size_t level = 0; level <= down_.size(); ++level) {
            levels_.push_back({place, below, alike, links_, 0});
            const std::int32_t nodes = hosts() / below * alike;
            const std::int64_t ways = level < down_.size() ? up_[level] : 0;
            if (std::int64_t{hosts()} / below * alike * std::max<std::int64_t>(ways, 1) > max_links)
                throw Error(ErrorCode::invalid_argument, "a fat tree with more than 2^28 links on a level");
            place += nodes;
            if (level < down_.size()) links_ += static_cast<std::uint32_t>(nodes * up_[level]);
            levels_.back().down = links_;
            if (level > 0) links_ += static_cast<std::uint32_t>(nodes * down_[level - 1]);
            if (level == down_.size()) break;
            below *= down_[level];
            alike *= up_[level];
        }
    }

    std::uint32_t links() const override { return links_; }

    Hop next(std::int32_t place, std::int32_t to) const override {
        std::size_t level = levels_.size() - 1;
        while (place < levels_[level].place) --level;
        const Level& here = levels_[level];
        const std::int32_t node = place - here.place;
        const std::int32_t part = node / here.alike;
        const std::int32_t number = node % here.alike;
        if (level > 0 && part == to / here.below) {
            const Level& lower = levels_[level - 1];
            const std::int32_t child = to / lower.below % down_[level - 1];
            return {.link = here.down + static_cast<std::uint32_t>(node * down_[level - 1] + child),
                    .node = lower.place + to / lower.below * lower.alike + number % lower.alike};
        }
        const Level& upper = levels_[level + 1];
        const std::int32_t parent = to / here.alike % up_[level];
        return {.link = here.up + static_cast<std::uint32_t>(node * up_[level] + parent),
                .node = upper.place + part / down_[level] * upper.alike + parent * here.alike + number};
    }

    std::string what() const override {
        return fmt::format("fat tree of {} hosts ({} children, {} parents)", hosts(), fmt::join(down_, "x"),
                           fmt::join(up_, "x"));
    }

  private:
    static constexpr std::int64_t max_links = 1 << 28;

    struct Level {
        std::int32_t place;  // of its first node
        std::int32_t below;
        std::int32_t alike;
        std::uint32_t up;  // first link
        std::uint32_t down;
    };
    std::vector<int> down_;
    std::vector<int> up_;
    std::vector<Level> levels_;
    std::uint32_t links_ = 0;
};

}  // namespace

std::unique_ptr<Network> fat_tree(std::vector<int> down, std::vector<int> up, int ranks_per_host, Time hop) {
    return std::make_unique<FatTree>(std::move(down), std::move(up), ranks_per_host, hop);
}

}  // namespace lapwing::simulate
