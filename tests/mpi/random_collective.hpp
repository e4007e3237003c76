// A nonblocking collective in flight, drawn alike by all ranks, and what it must give.
#pragma once

#include <mpi.h>

#include <vector>

#include "random.hpp"
#include "reference.hpp"

class RandomCollective {
  public:
    // Of blocks of `count` numbers.
    RandomCollective(MPI_Comm communicator, Random& random, int count) {
        const int rank = rank_in(communicator);
        const int ranks = size_of(communicator);
        const int kind = random.below(6);
        const int value = random.below(1000);
        const int root = random.below(ranks);
        const auto fill = [count](std::vector<int>& block, int number) {
            block.insert(block.end(), static_cast<std::size_t>(count), number);
        };
        if (kind == 0) {
            MPI_Ibarrier(communicator, &request);
        } else if (kind == 1) {
            fill(out_, rank == root ? value : -1);
            fill(expected_, value);
            MPI_Ibcast(out_.data(), count, MPI_INT, root, communicator, &request);
        } else if (kind == 2) {
            fill(in_, value + rank);
            fill(out_, -1);
            fill(expected_, ranks * value + ranks * (ranks - 1) / 2);
            MPI_Iallreduce(in_.data(), out_.data(), count, MPI_INT, MPI_SUM, communicator, &request);
        } else if (kind == 3) {
            for (int other = 0; other < ranks; ++other) {
                fill(in_, value + 1000 * rank + other);
                fill(out_, -1);
                fill(expected_, value + 1000 * other + rank);
            }
            MPI_Ialltoall(in_.data(), count, MPI_INT, out_.data(), count, MPI_INT, communicator, &request);
        } else {
            const bool to_all = kind == 5;
            fill(in_, value + rank);
            for (int from = 0; (to_all || rank == root) && from < ranks; ++from) {
                fill(out_, -1);
                fill(expected_, value + from);
            }
            const void* const in = in_.data();
            void* const out = out_.data();
            if (to_all)
                MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, communicator, &request);
            else
                MPI_Igather(in, count, MPI_INT, out, count, MPI_INT, root, communicator, &request);
        }
    }
    // When it is complete.
    bool right() const { return out_ == expected_; }

    MPI_Request request = MPI_REQUEST_NULL;

  private:
    std::vector<int> in_, out_, expected_;
};
