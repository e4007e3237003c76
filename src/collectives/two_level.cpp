#include "collectives/two_level.hpp"

#include <algorithm>
#include <vector>

#include "collectives/arithmetic.hpp"

namespace lapwing::two_level {
namespace {

int number_of_segments(const Problem& problem, std::int64_t kib, std::int64_t min_count) {
    const std::uint64_t element = is_reduction(problem.collective) ? problem.element_bytes() : 1;
    const std::uint64_t bytes_of_one =
        kib == 0 ? std::clamp<std::uint64_t>(problem.bytes / 32, 32 << 10, 128 << 10)
                 : static_cast<std::uint64_t>(kib) << 10;
    const std::uint64_t by_length =
        problem.bytes / bytes_of_one + (problem.bytes % bytes_of_one != 0 ? 1 : 0);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(
        by_length, static_cast<std::uint64_t>(min_count),
        std::max<std::uint64_t>(max_segments, static_cast<std::uint64_t>(min_count)));
    return static_cast<int>(std::clamp<std::uint64_t>(problem.bytes / element, 1, wanted));
}

}  // namespace

Verdict has_levels(const Problem& problem) {
    const Placement* placement = problem.placement.get();
    if (placement == nullptr) return Verdict::no("the hosts of the ranks are unknown");
    if (placement->hosts() == 1) return Verdict::no("all ranks are on one host");
    if (placement->hosts() == problem.ranks) return Verdict::no("every host has one rank");
    return Verdict::yes();
}

Verdict keeps_order(const Problem& problem) {
    if (!problem.ordered || problem.placement->in_rank_order()) return Verdict::yes();
    return Verdict::no("the operator does not commute, and the ranks are not in rank order host by host");
}

Seats::Seats(const Problem& problem) : placement_(*problem.placement) {
    if (!has_root(problem.collective)) return;
    root_host_ = placement_.host_of(problem.root);
    root_place_ = placement_.place_on_host(problem.root);
}

HostTree tree_of_hosts(int hosts, int top, int host, std::int64_t radix) {
    const int relative = relative_rank(host, top, hosts);
    const auto absolute = [&](std::int64_t r) { return absolute_rank(static_cast<int>(r), top, hosts); };
    HostTree tree;
    if (radix == 1) {
        if (relative > 0) tree.parent = absolute(relative - 1);
        if (relative + 1 < hosts) tree.children.push_back(absolute(relative + 1));
        return tree;
    }
    std::int64_t place = 1;  // value of the digit that the children differ in
    for (; place < hosts && relative / place % radix == 0; place *= radix) {
        for (std::int64_t digit = 1; digit < radix; ++digit) {
            const std::int64_t child = relative + digit * place;
            if (child < hosts) tree.children.push_back(absolute(child));
        }
    }
    if (relative > 0) tree.parent = absolute(relative - relative / place % radix * place);
    return tree;
}

int levels_of_tree(int hosts, std::int64_t radix) {
    if (radix == 1) return hosts - 1;
    int levels = 0;
    for (std::int64_t reached = 1; reached < hosts; reached *= radix) ++levels;
    return levels;
}

Segments::Segments(const Problem& problem, std::int64_t kib, std::int64_t leaders_wanted, int min_count)
    : leaders(std::min<std::int64_t>(leaders_wanted, problem.placement->largest_host())),
      blocks(problem.bytes, is_reduction(problem.collective) ? problem.element_bytes() : 1,
             number_of_segments(problem, kib, std::max<std::int64_t>(min_count, leaders))) {}

std::int64_t radix_of(std::int64_t k, int hosts, int segments) {
    if (k != 0) return k;
    return segments > 1 && 2 * segments >= hosts ? 1 : 4;
}

double intra_node_messages(const Machine& machine, double count, double bytes) {
    return machine.intra_node_latency +
           count * (2 * machine.intra_node_task + bytes * machine.intra_node_per_byte);
}

double inter_node_messages(const Machine& machine, double count, double bytes) {
    return machine.latency + count * (2 * machine.task + bytes * machine.per_byte);
}

double cost_of_tree(const Problem& problem, const Parameters& parameters, const Machine& machine,
                    double intra_node_per_segment) {
    const int hosts = problem.placement->hosts();
    const int count = Segments(problem, parameters[1], parameters[2]).count();
    const std::int64_t radix = radix_of(parameters[0], hosts, count);
    const double bytes = static_cast<double>(problem.bytes) / count;
    const double levels = levels_of_tree(hosts, radix);
    const double width = static_cast<double>(std::clamp<std::int64_t>(radix - 1, 1, hosts - 1));
    // The top has the most children, and serves them for one segment after the other.
    const double children = radix == 1 ? 1 : std::min<double>(levels * width, hosts - 1);
    const double each = children * (2 * machine.task + bytes * machine.per_byte);
    return levels * inter_node_messages(machine, width, bytes) + intra_node_per_segment +
           (count - 1) * std::max(each, intra_node_per_segment);
}

namespace {

// Returns the maximum number of messages that leave one host in the step between ranks `distance` apart. Of a
// tree from the root, only the ranks that have the data send.
int max_leaving(const Problem& problem, int distance, std::vector<int>& by_host) {
    const Placement& placement = *problem.placement;
    const bool tree = has_root(problem.collective);
    const int root = tree ? problem.root : 0;
    by_host.assign(static_cast<std::size_t>(placement.hosts()), 0);
    const auto host_of = [&](int place) { return placement.host_of((place + root) % problem.ranks); };
    for (int place = 0; place < problem.ranks; place += tree ? 2 * distance : 1) {
        const int peer = place ^ distance;
        if (peer < problem.ranks && host_of(place) != host_of(peer))
            ++by_host[static_cast<std::size_t>(host_of(place))];
    }
    return *std::max_element(by_host.begin(), by_host.end());
}

Machine machine_for_doubling(const Problem& problem, const Machine& machine) {
    Machine flat = machine;
    flat.latency = flat.task = flat.per_byte = 0;
    double steps = 0;
    std::vector<int> by_host;
    for (int distance = 1; distance < problem.ranks; distance *= 2) {
        const int leaving = max_leaving(problem, distance, by_host);
        flat.latency += leaving > 0 ? machine.latency : machine.intra_node_latency;
        flat.task += leaving > 0 ? machine.task : machine.intra_node_task;
        flat.per_byte += leaving > 0 ? machine.per_byte * leaving : machine.intra_node_per_byte;
        ++steps;
    }
    for (double Machine::*const constant : {&Machine::latency, &Machine::task, &Machine::per_byte})
        flat.*constant /= steps;
    return flat;
}

}  // namespace

Machine machine_for_flat(const Problem& problem, Paths paths, const Machine& machine) {
    if (paths == Paths::doubling) return machine_for_doubling(problem, machine);
    if (paths == Paths::numbers) paths = problem.placement->has_runs() ? Paths::ring : Paths::shared;
    if (paths == Paths::by_root) paths = has_root(problem.collective) ? Paths::single : Paths::shared;
    if (paths == Paths::ring) return machine;
    const double intra_node = problem.placement->intra_node_pairs();
    const double sharing =
        paths == Paths::shared ? static_cast<double>(problem.ranks) / problem.placement->hosts() : 1;
    const auto mixed = [intra_node](double of_intra_node, double of_inter_node) {
        return intra_node * of_intra_node + (1 - intra_node) * of_inter_node;
    };
    Machine flat = machine;
    flat.latency = mixed(machine.intra_node_latency, machine.latency);
    flat.task = mixed(machine.intra_node_task, machine.task);
    flat.per_byte = mixed(machine.intra_node_per_byte, machine.per_byte * sharing);
    return flat;
}

}  // namespace lapwing::two_level
