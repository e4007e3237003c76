#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>

#include "synthesis/search.hpp"

namespace lapwing::synthesis {
namespace {

// All orders of ranks are tried up to here.
constexpr int max_permuted = 8;

Links reversed(const Links& links) {
    Links result = links;
    for (int from = 0; from < links.ranks; ++from)
        for (int to = 0; to < links.ranks; ++to)
            result.pairs[at(to * links.ranks + from)] = links.pair(from, to);
    return result;
}

bool goes_to_one(const Chunk& chunk) {
    return std::count(chunk.needed.begin(), chunk.needed.end(), 1) == 1;
}

// The root of a chunk that any rank may have: ranks with fast ports in turn.
void choose_roots(const Links& links, Routes& routes) {
    const double fastest = *std::min_element(links.ports.begin(), links.ports.end());
    std::vector<int> fast;
    for (int rank = 0; rank < links.ranks; ++rank)
        if (links.port(rank) == fastest) fast.push_back(rank);
    routes.trees.clear();
    for (std::size_t i = 0; i < routes.chunks.size(); ++i) {
        const Chunk& chunk = routes.chunks[i];
        Tree tree;
        tree.root = chunk.root >= 0 ? chunk.root : fast[i % fast.size()];
        tree.down.assign(at(links.ranks), -1);
        if (chunk.reduced) tree.up.assign(at(links.ranks), -1);
        routes.trees.push_back(tree);
    }
}

// The shortest way from the root to the one rank that needs the chunk (Dijkstra 1959).
void shortest_way(const Links& links, double bytes, int root, int target, std::vector<int>& down) {
    std::vector<double> distance(at(links.ranks), never);
    std::vector<int> before(at(links.ranks), -1);
    std::vector<char> done(at(links.ranks), 0);
    distance[at(root)] = 0;
    for (int round = 0; round < links.ranks; ++round) {
        int next = -1;
        for (int rank = 0; rank < links.ranks; ++rank)
            if (done[at(rank)] == 0 && (next < 0 || distance[at(rank)] < distance[at(next)])) next = rank;
        done[at(next)] = 1;
        for (int rank = 0; rank < links.ranks; ++rank) {
            const double length = distance[at(next)] + links.seconds(next, rank, bytes);
            if (rank == next || length >= distance[at(rank)]) continue;
            distance[at(rank)] = length;
            before[at(rank)] = next;
        }
    }
    for (int rank = target; rank != root; rank = before[at(rank)]) down[at(rank)] = before[at(rank)];
}

// Trees to all ranks: the transfer that arrives first is the next one, as in Bhat, Raghavendra, Prasanna 1999
// ("Efficient collective communication in distributed heterogeneous systems"), for all chunks at once. Of
// several, that of the chunk which the fewest ranks have.
void grow(const Links& links, const std::vector<int>& roots, double bytes,
          std::vector<std::vector<int>>& parents) {
    const double wire = bytes * links.per_byte;
    std::vector<double> out(at(links.ranks), 0);
    std::vector<double> in(at(links.ranks), 0);
    std::vector<std::vector<double>> has(roots.size(), std::vector<double>(at(links.ranks), never));
    std::vector<int> holders(roots.size(), 1);
    for (std::size_t chunk = 0; chunk < roots.size(); ++chunk) has[chunk][at(roots[chunk])] = 0;
    for (std::size_t left = roots.size() * at(links.ranks - 1); left > 0; --left) {
        double first = never;
        std::size_t chosen = 0;
        int from = 0;
        int to = 0;
        for (std::size_t chunk = 0; chunk < roots.size(); ++chunk) {
            for (int u = 0; u < links.ranks; ++u) {
                if (has[chunk][at(u)] == never) continue;
                for (int v = 0; v < links.ranks; ++v) {
                    if (has[chunk][at(v)] != never || !links.joined(u, v)) continue;
                    const double start = std::max({has[chunk][at(u)], out[at(u)], in[at(v)] - links.latency});
                    const double arrival = start + links.seconds(u, v, bytes);
                    if (arrival > first || (arrival == first && holders[chunk] >= holders[chosen])) continue;
                    first = arrival;
                    chosen = chunk;
                    from = u;
                    to = v;
                }
            }
        }
        has[chosen][at(to)] = first;
        ++holders[chosen];
        parents[chosen][at(to)] = from;
        const double start = first - links.seconds(from, to, bytes);
        out[at(from)] = start + links.task + wire * links.port(from);
        in[at(to)] = std::max(first - links.task, in[at(to)]);
    }
}

Routes greedy(const Links& links, Routes routes, double bytes) {
    choose_roots(links, routes);
    std::vector<int> roots;
    for (const Tree& tree : routes.trees) roots.push_back(tree.root);
    std::vector<std::vector<int>> parents(roots.size(), std::vector<int>(at(links.ranks), -1));
    if (routes.chunks.front().reduced) {
        // Backwards in time a reduction is a broadcast.
        grow(reversed(links), roots, bytes, parents);
        for (std::size_t i = 0; i < roots.size(); ++i) routes.trees[i].up = parents[i];
    }
    if (goes_to_one(routes.chunks.front())) {
        for (std::size_t i = 0; i < roots.size(); ++i) {
            const auto& needed = routes.chunks[i].needed;
            const auto target = static_cast<int>(std::find(needed.begin(), needed.end(), 1) - needed.begin());
            shortest_way(links, bytes, roots[i], target, routes.trees[i].down);
        }
        return routes;
    }
    for (std::vector<int>& of_chunk : parents) std::fill(of_chunk.begin(), of_chunk.end(), -1);
    grow(links, roots, bytes, parents);
    for (std::size_t i = 0; i < roots.size(); ++i) routes.trees[i].down = parents[i];
    return routes;
}

// The cycle through the given ranks whose ways are the fastest; empty if there is none.
std::vector<int> best_cycle(const Links& links, std::vector<int> ranks) {
    const auto length = [&](const std::vector<int>& order) {
        double sum = 0;
        double slowest = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const double way = links.way(order[i], order[(i + 1) % order.size()]);
            sum += way;
            slowest = std::max(slowest, way);
        }
        return slowest * static_cast<double>(order.size()) + sum;
    };
    std::vector<int> best = ranks;
    double least = length(best);
    if (static_cast<int>(ranks.size()) <= max_permuted) {
        while (std::next_permutation(ranks.begin() + 1, ranks.end())) {
            if (const double one = length(ranks); one < least) {
                least = one;
                best = ranks;
            }
        }
    } else {
        // 2-opt (Croes 1958).
        for (bool better = true; better;) {
            better = false;
            for (std::size_t i = 1; i + 1 < best.size(); ++i) {
                for (std::size_t j = i + 1; j < best.size(); ++j) {
                    std::vector<int> turned = best;
                    std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(i),
                                 turned.begin() + static_cast<std::ptrdiff_t>(j) + 1);
                    if (const double one = length(turned); one < least) {
                        least = one;
                        best = turned;
                        better = true;
                    }
                }
            }
        }
    }
    return least < never ? best : std::vector<int>{};
}

// Each chunk along a cycle: down from its root, and up to it. Ranks that are not on the cycle are leaves.
std::optional<Routes> along(const Links& links, Routes routes, const std::vector<int>& cycle) {
    if (cycle.empty()) return {};
    choose_roots(links, routes);
    for (std::size_t i = 0; i < routes.chunks.size(); ++i) {
        Tree& tree = routes.trees[i];
        if (routes.chunks[i].root < 0) tree.root = cycle[i % cycle.size()];
        const auto found = std::find(cycle.begin(), cycle.end(), tree.root);
        const std::size_t start = found == cycle.end() ? 0 : static_cast<std::size_t>(found - cycle.begin());
        std::vector<int> order;  // from the root
        if (found == cycle.end()) order.push_back(tree.root);
        for (std::size_t k = 0; k < cycle.size(); ++k) order.push_back(cycle[(start + k) % cycle.size()]);
        std::vector<int> leaves;
        for (int rank = 0; rank < links.ranks; ++rank)
            if (std::find(order.begin(), order.end(), rank) == order.end()) leaves.push_back(rank);
        const bool down = !goes_to_one(routes.chunks[i]);
        for (std::size_t k = 1; k < order.size(); ++k) {
            if (down) tree.down[at(order[k])] = order[k - 1];
            // The ring's reduction begins at the rank after the root and comes round to the root.
            if (!tree.up.empty()) tree.up[at(order[k])] = order[(k + 1) % order.size()];
        }
        for (const int leaf : leaves) {
            if (down) tree.down[at(leaf)] = tree.root;
            if (!tree.up.empty()) tree.up[at(leaf)] = tree.root;
        }
        for (int rank = 0; rank < links.ranks; ++rank) {
            const int above = tree.down[at(rank)];
            if (above >= 0 && !links.joined(above, rank)) return {};
            if (!tree.up.empty() && tree.up[at(rank)] >= 0 && !links.joined(rank, tree.up[at(rank)]))
                return {};
        }
    }
    return routes;
}

// Groups of ranks that fast links join: ranks join the group whose links to them are the fastest.
std::vector<std::vector<int>> groups_of(const Links& links) {
    // As many groups as give groups of 4 to 8 ranks.
    const int number = (links.ranks + max_permuted - 1) / max_permuted;
    const int size = (links.ranks + number - 1) / number;
    std::vector<std::vector<int>> groups;
    std::vector<char> taken(at(links.ranks), 0);
    for (int first = 0; first < links.ranks; ++first) {
        if (taken[at(first)] != 0) continue;
        std::vector<int> group = {first};
        taken[at(first)] = 1;
        while (static_cast<int>(group.size()) < size) {
            int nearest = -1;
            double least = never;
            for (int rank = 0; rank < links.ranks; ++rank) {
                if (taken[at(rank)] != 0) continue;
                double way = 0;
                for (const int member : group)
                    way = std::max({way, links.pair(member, rank), links.pair(rank, member)});
                if (way < least) {
                    least = way;
                    nearest = rank;
                }
            }
            if (nearest < 0) break;
            taken[at(nearest)] = 1;
            group.push_back(nearest);
        }
        groups.push_back(group);
    }
    return groups;
}

Links part_of(const Links& links, const std::vector<int>& ranks) {
    Links part = links;
    part.ranks = static_cast<int>(ranks.size());
    part.ports.clear();
    part.pairs.clear();
    for (const int from : ranks) {
        part.ports.push_back(links.port(from));
        for (const int to : ranks) part.pairs.push_back(from == to ? 1 : links.pair(from, to));
    }
    return part;
}

// A tree from the first of `ranks` to all of them, searched for that group alone; as parents in the whole
// group.
void add_tree(const Links& links, const std::vector<int>& ranks, std::uint64_t steps, double bytes,
              std::vector<int>& parents) {
    if (ranks.size() < 2) return;
    const Problem problem{.collective = Collective::broadcast, .ranks = static_cast<int>(ranks.size())};
    const Routes found = search(part_of(links, ranks), problem, 1, bytes, {.steps = steps});
    const std::vector<int>& down = found.trees.front().down;
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (down[i] >= 0) parents[at(ranks[i])] = ranks[at(down[i])];
}

// Two levels: a tree between groups, from the group of the root, and trees inside them. In each group the
// rank with the fastest port is the leader, in turn if there are several.
std::optional<Routes> two_levels(const Links& links, Routes routes, double bytes) {
    const std::vector<std::vector<int>> groups = groups_of(links);
    choose_roots(links, routes);
    constexpr std::uint64_t steps = 500;
    const auto build = [&](const Links& over, std::size_t index, int root) -> std::vector<int> {
        std::vector<int> parents(at(links.ranks), -1);
        std::vector<int> leaders = {root};
        std::vector<std::vector<int>> ordered;
        for (const std::vector<int>& group : groups) {
            std::vector<int> one = group;
            if (const auto own = std::find(one.begin(), one.end(), root); own != one.end()) {
                std::iter_swap(one.begin(), own);
            } else {
                std::rotate(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(index % one.size()),
                            one.end());
                std::iter_swap(one.begin(), std::min_element(one.begin(), one.end(), [&](int a, int b) {
                                   return over.port(a) < over.port(b);
                               }));
                leaders.push_back(one.front());
            }
            ordered.push_back(one);
        }
        if (unreachable_rank(part_of(over, leaders))) return {};
        add_tree(over, leaders, steps, bytes, parents);
        for (const std::vector<int>& group : ordered) {
            if (unreachable_rank(part_of(over, group))) return {};
            add_tree(over, group, steps, bytes, parents);
        }
        return parents;
    };
    const Links back = reversed(links);
    for (std::size_t i = 0; i < routes.chunks.size(); ++i) {
        Tree& tree = routes.trees[i];
        // Chunks of one root have the same groups: by their index, pieces go different ways.
        if (!tree.up.empty()) {
            tree.up = build(back, i, tree.root);
            if (tree.up.empty()) return {};
        }
        if (goes_to_one(routes.chunks[i])) continue;
        tree.down = build(links, i, tree.root);
        if (tree.down.empty()) return {};
    }
    return routes;
}

}  // namespace

std::vector<Routes> constructions(const Links& links, const Problem& problem, int pieces, double bytes) {
    const Routes empty = routes_of(problem, pieces);
    std::vector<Routes> all;
    if (empty.chunks.empty()) return all;
    all.push_back(greedy(links, empty, bytes));
    const bool trees = empty.chunks.front().reduced || !goes_to_one(empty.chunks.front());
    if (!trees) return all;
    std::vector<int> ranks(at(links.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (auto ring = along(links, empty, best_cycle(links, ranks))) all.push_back(std::move(*ring));
    const double fastest = *std::min_element(links.ports.begin(), links.ports.end());
    std::erase_if(ranks, [&](int rank) { return links.port(rank) > fastest; });
    if (static_cast<int>(ranks.size()) < links.ranks) {
        if (auto ring = along(links, empty, best_cycle(links, ranks))) all.push_back(std::move(*ring));
    }
    if (links.ranks > max_permuted) {
        if (auto levels = two_levels(links, empty, bytes)) all.push_back(std::move(*levels));
    }
    return all;
}

}  // namespace lapwing::synthesis
