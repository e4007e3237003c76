// What flat and pairwise share, for alltoall, allgather and their v forms.
#pragma once

#include "collectives/blocks.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {

// Writes one rank's list, block by block. Blocks of zero bytes are not transferred.
class Exchange {
  public:
    Exchange(const Problem& problem, int rank)
        : problem_(problem),
          rank_(rank),
          list_(problem, rank, 3 * static_cast<std::uint64_t>(problem.ranks)) {}

    void recv(int peer) {
        const Span block = block_from(problem_, rank_, peer);
        if (block.length > 0) list_.recv(peer, block);
    }
    void send(int peer) {
        const Span block = block_to(problem_, rank_, peer);
        if (block.length > 0) list_.send(peer, block);
    }
    void wait(int peer) {
        if (block_from(problem_, rank_, peer).length > 0) list_.wait(peer);
    }
    void copy_own() { list_.copy(block_from(problem_, rank_, rank_), block_to(problem_, rank_, rank_)); }
    List finish() { return list_.finish(); }

  private:
    const Problem& problem_;
    int rank_;
    Builder list_;
};

}  // namespace lapwing::alltoall
