#include "predict/network.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/values.hpp"
#include "lapwing/common/values.hpp"
#include "simulate/networks/networks.hpp"
#include "simulate/random.hpp"
#include "topology/host_order.hpp"

namespace lapwing::tool {
namespace {

constexpr std::uint64_t max_hosts = 1 << 20;
// Apart from the numbers of processors.
constexpr std::uint64_t stream_of_places = std::uint64_t{1} << 41;

[[noreturn]] void refuse(const std::string& written, const char* form) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--interconnect: '{}' is not of the form {}", written, form));
}

// "8x8x16", each from 1 on, the product at most `max_hosts`; empty: it is none.
std::vector<int> extents_of(std::string_view text) {
    std::vector<int> extents;
    std::uint64_t product = 1;
    while (!text.empty()) {
        const std::size_t end = text.find('x');
        const auto number = parse_number(text.substr(0, end));
        if (!number || *number == 0 || *number > max_hosts) return {};
        product *= *number;
        if (product > max_hosts) return {};
        extents.push_back(static_cast<int>(*number));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
        if (text.empty()) return {};
    }
    return extents;
}

std::unique_ptr<simulate::Network> make_fat_tree(const NetworkOptions& options, std::string_view shape) {
    constexpr const char* form = "fat-tree:16x16 or fat-tree:16x16:1x8, children and parents of each level";
    const std::size_t colon = shape.find(':');
    const std::vector<int> down = extents_of(shape.substr(0, colon));
    if (down.empty()) refuse(options.shape, form);
    std::vector<int> up{1};
    if (colon == std::string_view::npos) {
        // As many parents as children: no level has less than the one below.
        up.insert(up.end(), down.begin(), down.end() - 1);
    } else {
        up = extents_of(shape.substr(colon + 1));
        if (up.size() != down.size()) refuse(options.shape, form);
    }
    return simulate::fat_tree(down, up, options.ranks_per_host, options.hop);
}

const std::string shapes[] = {"flat", "torus", "one-way-torus", "mesh", "fat-tree"};

std::unique_ptr<simulate::Network> empty_network(const NetworkOptions& options, int ranks) {
    const std::string& written = options.shape;
    const std::size_t colon = std::min(written.find(':'), written.size());
    const std::size_t kind = pick("network", written.substr(0, colon), shapes);
    const std::string_view shape =
        colon == written.size() ? std::string_view{} : std::string_view(written).substr(colon + 1);
    if (kind == 0) {
        if (!shape.empty()) refuse(written, "flat");
        if (options.ranks_per_host == 1) return nullptr;
        return simulate::crossbar((ranks + options.ranks_per_host - 1) / options.ranks_per_host,
                                  options.ranks_per_host);
    }
    if (options.hop < simulate::nanosecond)
        throw Error(ErrorCode::invalid_argument, "--hop must be at least 1ns in a network with links");
    if (kind == 4) return make_fat_tree(options, shape);
    const std::vector<int> extents = extents_of(shape);
    const char* const examples[] = {"torus:8x8x16", "one-way-torus:4x4", "mesh:8x8"};
    if (extents.empty()) refuse(written, examples[kind - 1]);
    const simulate::GridKind grids[] = {simulate::GridKind::torus, simulate::GridKind::one_way_torus,
                                        simulate::GridKind::mesh};
    return simulate::grid(extents, grids[kind - 1], options.ranks_per_host, options.hop);
}

}  // namespace

std::vector<std::int32_t> places_of(const NetworkOptions& options, int ranks) {
    std::vector<std::int32_t> hosts(static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < hosts.size(); ++rank)
        hosts[rank] = static_cast<std::int32_t>(rank / static_cast<std::size_t>(options.ranks_per_host));
    if (!options.random_places) return hosts;
    for (std::size_t left = hosts.size(); left > 1; --left)
        std::swap(hosts[left - 1], hosts[simulate::random_bits(options.seed, stream_of_places, left) % left]);
    return hosts;
}

std::vector<std::int32_t> order_of_hosts(const NetworkOptions& options, int hosts) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(hosts));
    std::iota(order.begin(), order.end(), 0);
    const std::size_t colon = options.shape.find(':');
    if (colon == std::string::npos) return order;
    const std::string kind = options.shape.substr(0, colon);
    const bool wraps = kind.ends_with("torus");
    if (!wraps && kind != "mesh") return order;
    std::int32_t position = 0;
    for (const int cell : topology::path_through({wraps, extents_of(options.shape.substr(colon + 1))}))
        if (cell < hosts) order[static_cast<std::size_t>(cell)] = position++;
    return order;
}

std::unique_ptr<simulate::Network> make_network(const NetworkOptions& options, int ranks) {
    std::unique_ptr<simulate::Network> network = empty_network(options, ranks);
    if (network != nullptr && options.random_places) network->put(places_of(options, ranks));
    return network;
}

}  // namespace lapwing::tool
