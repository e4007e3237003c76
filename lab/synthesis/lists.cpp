#include <algorithm>

#include "collectives/blocks.hpp"
#include "synthesis/routes.hpp"
#include "task/builder.hpp"

namespace lapwing::synthesis {
namespace {

// Writes one rank's list.
class ListWriter {
  public:
    ListWriter(const Problem& problem, const Routes& routes, const Schedule& schedule, int rank)
        : problem_(problem),
          routes_(routes),
          rank_(rank),
          builder_(problem, rank),
          received_(routes.chunks.size()),
          sent_by_(at(problem.ranks), 0),
          waited_(at(problem.ranks), 0),
          scratch_blocks_(at(routes.pieces), 0) {
        for (const Transfer& transfer : schedule.transfers) {
            if (transfer.from == rank) sends_.push_back(transfer);
            if (transfer.to == rank) receive(transfer);
        }
    }

    List finish() {
        bool copied = false;
        for (const Transfer& transfer : sends_) {
            if (!copied && !received_[at(transfer.chunk)].empty()) {
                copy_own_block();
                copied = true;
            }
            builder_.send(transfer.to, source(transfer));
        }
        if (!copied) copy_own_block();
        for (std::size_t chunk = 0; chunk < received_.size(); ++chunk) {
            if (routes_.chunks[chunk].reduced && tree(chunk).root == rank_) combine(chunk);
        }
        for (int peer = 0; peer < problem_.ranks; ++peer) wait(peer, sent_by_[at(peer)]);
        List list = builder_.finish();
        const std::uint64_t blocks = *std::max_element(scratch_blocks_.begin(), scratch_blocks_.end());
        list.scratch_bytes = blocks * at(routes_.pieces);
        return list;
    }

  private:
    struct Received {
        int peer;
        std::uint64_t number;  // of the peer's messages to this rank, from 1
        Span target;
        bool up;
        bool combined = false;
    };

    const Tree& tree(std::size_t chunk) const { return routes_.trees[chunk]; }
    Span block(Span (*space)(std::uint64_t, std::uint64_t), const Chunk& chunk, int number) const {
        return space(at(number * routes_.pieces + chunk.position), 1);
    }
    Span contribution(const Chunk& chunk) const {
        const bool all = problem_.collective == Collective::scatter ||
                         problem_.collective == Collective::reduce_scatter_block;
        if (problem_.collective == Collective::alltoall)
            return block(in, chunk, chunk.block % problem_.ranks);
        return block(in, chunk, all ? chunk.block : 0);
    }
    Span result(const Chunk& chunk) const {
        const bool all =
            problem_.collective == Collective::gather || problem_.collective == Collective::allgather;
        if (problem_.collective == Collective::alltoall)
            return block(out, chunk, chunk.block / problem_.ranks);
        return block(out, chunk, all ? chunk.block : 0);
    }
    // Of the same position in the block, so that the lists serve every size.
    Span scratch(const Chunk& chunk) {
        const std::uint64_t number = scratch_blocks_[at(chunk.position)]++;
        return {Space::scratch, number * at(routes_.pieces) + at(chunk.position), 1};
    }

    void receive(const Transfer& transfer) {
        const Chunk& chunk = routes_.chunks[at(transfer.chunk)];
        std::vector<Received>& of_chunk = received_[at(transfer.chunk)];
        // At the root the first contribution arrives where the result belongs.
        const bool in_place = transfer.up ? tree(at(transfer.chunk)).root == rank_ && of_chunk.empty()
                                          : chunk.needed[at(rank_)] != 0;
        const Span target = in_place ? result(chunk) : scratch(chunk);
        of_chunk.push_back({transfer.from, ++sent_by_[at(transfer.from)], target, transfer.up});
        builder_.recv(transfer.from, target);
    }

    void wait(int peer, std::uint64_t number) {
        std::uint64_t& waited = waited_[at(peer)];
        if (number <= waited) return;
        builder_.wait(peer, number - waited);
        waited = number;
    }

    // Returns where the contributions of this rank and of those below it are combined.
    Span combine(std::size_t index) {
        const Chunk& chunk = routes_.chunks[index];
        Span sum = contribution(chunk);
        for (Received& one : received_[index]) {
            if (!one.up) continue;
            if (!one.combined) {
                wait(one.peer, one.number);
                if (sum.space == Space::in) {
                    builder_.reduce(one.target, sum);
                } else {
                    builder_.reduce(sum, one.target);
                }
                one.combined = true;
            }
            if (sum.space == Space::in) sum = one.target;
        }
        return sum;
    }

    Span source(const Transfer& transfer) {
        const auto index = at(transfer.chunk);
        const Chunk& chunk = routes_.chunks[index];
        if (transfer.up || (chunk.reduced && tree(index).root == rank_)) return combine(index);
        if (tree(index).root == rank_) return contribution(chunk);
        for (const Received& one : received_[index]) {
            if (one.up) continue;
            wait(one.peer, one.number);
            return one.target;
        }
        return contribution(chunk);
    }

    void copy_own_block() {
        if (is_reduction(problem_.collective) || problem_.collective == Collective::broadcast) return;
        if (has_root(problem_.collective) && rank_ != problem_.root) return;
        builder_.copy(block_from(problem_, rank_, rank_), block_to(problem_, rank_, rank_));
    }

    const Problem& problem_;
    const Routes& routes_;
    int rank_;
    Builder builder_;
    std::vector<Transfer> sends_;
    std::vector<std::vector<Received>> received_;  // of each chunk
    std::vector<std::uint64_t> sent_by_;           // messages from each peer
    std::vector<std::uint64_t> waited_;
    std::vector<std::uint64_t> scratch_blocks_;  // of each position
};

}  // namespace

ListSet lists_of(const Problem& problem, const Routes& routes, const Schedule& schedule) {
    ListSet set;
    set.problem = {.collective = problem.collective, .ranks = problem.ranks, .root = problem.root};
    set.problem.bytes = static_cast<std::uint64_t>(routes.pieces);
    set.chunks.emplace();
    for (int rank = 0; rank < problem.ranks; ++rank)
        set.lists.push_back(ListWriter(set.problem, routes, schedule, rank).finish());
    return set;
}

}  // namespace lapwing::synthesis
