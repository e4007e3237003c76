#include "task/parts.hpp"

#include <map>

namespace lapwing {
namespace {

// Appends adjacent parts.
class AdjacentParts {
  public:
    explicit AdjacentParts(std::vector<Part>& parts) : parts_(parts) {}
    void add(int peer, std::uint64_t bytes) {
        parts_.push_back({peer, end_, bytes});
        end_ += bytes;
    }

  private:
    std::vector<Part>& parts_;
    std::uint64_t end_ = 0;
};

Parts parts_of_one(const Problem& p, int rank, const BlockLength& bytes) {
    Parts parts;
    AdjacentParts sends(parts.sends);
    AdjacentParts receives(parts.receives);
    const bool root = rank == p.root;
    switch (p.collective) {
        case Collective::gatherv:
            if (!root || !p.in_place) sends.add(p.root, bytes(rank, p.root));
            for (int from = 0; root && from < p.ranks; ++from) receives.add(from, bytes(from, p.root));
            break;
        case Collective::scatterv:
            for (int to = 0; root && to < p.ranks; ++to) sends.add(to, bytes(p.root, to));
            if (!root || !p.in_place) receives.add(p.root, bytes(p.root, rank));
            break;
        case Collective::allgatherv:
            if (!p.in_place) sends.add(rank, bytes(rank, 0));
            for (int from = 0; from < p.ranks; ++from) receives.add(from, bytes(from, 0));
            break;
        case Collective::alltoallv:
            for (int to = 0; to < p.ranks; ++to) sends.add(to, bytes(rank, to));
            for (int from = 0; from < p.ranks; ++from) receives.add(from, bytes(from, rank));
            break;
        case Collective::reduce_scatter:
            for (int to = 0; to < p.ranks; ++to) sends.add(to, bytes(0, to));
            receives.add(rank, bytes(0, rank));
            break;
        default:
            break;
    }
    return parts;
}

std::vector<Neighbors> graph_of(int ranks, const BlockLength& bytes) {
    std::vector<Neighbors> graph(static_cast<std::size_t>(ranks));
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            if (bytes(from, to) == 0) continue;
            graph[static_cast<std::size_t>(from)].destinations.push_back(to);
            graph[static_cast<std::size_t>(to)].sources.push_back(from);
        }
    }
    return graph;
}

// If one rank's parts give the lengths of all blocks: these blocks, one for each rank.
const std::vector<Part>& all_blocks(const Problem& p) {
    return p.collective == Collective::reduce_scatter ? p.parts.front().sends : p.parts.front().receives;
}

}  // namespace

std::vector<Parts> all_parts(const Problem& problem, const BlockLength& bytes) {
    if (has_neighbors(problem.collective)) {
        return parts_of_graph(problem, graph_of(problem.ranks, bytes), bytes);
    }
    std::vector<Parts> parts;
    for (int rank = 0; rank < problem.ranks; ++rank) parts.push_back(parts_of_one(problem, rank, bytes));
    return parts;
}

std::vector<Neighbors> periodic_line(int ranks) {
    std::vector<Neighbors> line;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<int> both = {rank == 0 ? ranks - 1 : rank - 1, rank == ranks - 1 ? 0 : rank + 1};
        line.push_back({both, both});
    }
    return line;
}

std::vector<Parts> parts_of_graph(const Problem& problem, std::span<const Neighbors> neighbors,
                                  const BlockLength& bytes) {
    std::vector<Parts> all(neighbors.size());
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const Neighbors& of_rank = neighbors[static_cast<std::size_t>(rank)];
        Parts& parts = all[static_cast<std::size_t>(rank)];
        AdjacentParts sends(parts.sends);
        AdjacentParts receives(parts.receives);
        for (const int to : of_rank.destinations) {
            if (problem.collective == Collective::neighbor_alltoall) {
                sends.add(to, bytes(rank, to));
            } else {
                parts.sends.push_back({to, 0, bytes(rank, to)});
            }
        }
        for (const int from : of_rank.sources) receives.add(from, bytes(from, rank));
    }
    return all;
}

Problem with_parts_of_all(const Problem& problem) {
    if (problem.parts.size() != 1 || !all_ranks_know_all_parts(problem.collective)) return problem;
    const std::vector<Part>& blocks = all_blocks(problem);
    Problem whole = problem;
    whole.parts = all_parts(problem, [&](int from, int to) {
        const int rank = problem.collective == Collective::reduce_scatter ? to : from;
        return blocks[static_cast<std::size_t>(rank)].bytes;
    });
    return whole;
}

std::uint64_t average_block(const Problem& p) {
    if (p.parts.empty() || !all_ranks_know_all_parts(p.collective)) return 0;
    std::uint64_t sum = 0;
    for (const Part& part : all_blocks(p)) sum += part.bytes;
    const std::uint64_t element = p.collective == Collective::reduce_scatter ? p.element_bytes() : 1;
    return sum / element / static_cast<std::uint64_t>(p.ranks) * element;
}

std::vector<std::size_t> meetings(const Problem& p, int rank) {
    std::vector<std::size_t> result;
    std::map<int, std::size_t> next;  // by peer, its first send without a receive
    for (const Part& receive : p.parts_of(rank).receives) {
        const std::vector<Part>& sends = p.parts_of(receive.peer).sends;
        std::size_t& at = next[receive.peer];
        while (sends[at].peer != rank) ++at;
        result.push_back(at++);
    }
    return result;
}

}  // namespace lapwing
