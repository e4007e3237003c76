#include "task/result.hpp"

#include <utility>

#include "task/parts.hpp"

namespace lapwing {
namespace {

class Results {
  public:
    void add(std::uint64_t at, std::uint64_t bytes, int first, int last, std::uint64_t offset) {
        if (bytes > 0) results_.push_back({{Space::out, at, bytes}, first, last, offset});
    }
    // The bytes of one rank.
    void add(const Part& part, int from, std::uint64_t offset) {
        add(part.offset, part.bytes, from, from, offset);
    }
    std::vector<Result> take() { return std::move(results_); }

  private:
    std::vector<Result> results_;
};

// Returns the offset of a rank's only block in its input; 0 in place, where the block is the whole input.
std::uint64_t own_offset(const Parts& parts) {
    return parts.sends.empty() ? 0 : parts.sends[0].offset;
}

}  // namespace

std::vector<Result> results(const Problem& p, int rank) {
    Results results;
    const bool root = rank == p.root;
    const auto index = static_cast<std::size_t>(rank);
    const std::uint64_t own = p.bytes * static_cast<std::uint64_t>(rank);
    switch (p.collective) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            if (!root) results.add(0, p.bytes, p.root, p.root, 0);
            break;
        case Collective::scatter:
            if (!root || !p.in_place) results.add(0, p.bytes, p.root, p.root, own);
            break;
        case Collective::gather:
        case Collective::allgather:
        case Collective::alltoall:
            if (p.collective == Collective::gather && !root) break;
            for (int from = 0; from < p.ranks; ++from) {
                results.add(p.bytes * static_cast<std::uint64_t>(from), p.bytes, from, from,
                            p.collective == Collective::alltoall ? own : 0);
            }
            break;
        case Collective::gatherv:
        case Collective::allgatherv:
            for (const Part& part : p.parts_of(rank).receives)
                results.add(part, part.peer, own_offset(p.parts_of(part.peer)));
            break;
        case Collective::scatterv:
            for (const Part& part : p.parts_of(rank).receives)
                results.add(part, p.root, p.parts_of(p.root).sends[index].offset);
            break;
        case Collective::alltoallv:
            for (const Part& part : p.parts_of(rank).receives)
                results.add(part, part.peer, p.parts_of(part.peer).sends[index].offset);
            break;
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall: {
            const std::vector<Part>& receives = p.parts_of(rank).receives;
            const std::vector<std::size_t> matching = meetings(p, rank);
            for (std::size_t i = 0; i < receives.size(); ++i) {
                const int from = receives[i].peer;
                results.add(receives[i], from, p.parts_of(from).sends[matching[i]].offset);
            }
            break;
        }
        case Collective::reduce:
            if (root) results.add(0, p.bytes, 0, p.ranks - 1, 0);
            break;
        case Collective::allreduce:
            results.add(0, p.bytes, 0, p.ranks - 1, 0);
            break;
        case Collective::reduce_scatter_block:
            results.add(0, p.bytes, 0, p.ranks - 1, own);
            break;
        case Collective::reduce_scatter:
            results.add(0, p.parts_of(rank).receives[0].bytes, 0, p.ranks - 1,
                        p.parts_of(rank).sends[index].offset);
            break;
        case Collective::scan:
            results.add(0, p.bytes, 0, rank, 0);
            break;
        case Collective::exscan:
            if (rank > 0) results.add(0, p.bytes, 0, rank - 1, 0);
            break;
    }
    return results.take();
}

}  // namespace lapwing
