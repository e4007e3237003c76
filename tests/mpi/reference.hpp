// What the drop-in tests share: data that every rank can compute for every other.
#pragma once

#include <mpi.h>

#include <vector>

inline const MPI_Comm world = MPI_COMM_WORLD;

inline int rank_in(MPI_Comm communicator) {
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    return rank;
}

inline int size_of(MPI_Comm communicator) {
    int size = 0;
    MPI_Comm_size(communicator, &size);
    return size;
}

// The i-th int that `from` sends to `to` in round `round`.
inline int value(int from, int to, int i, int round = 0) {
    return from * 1'000'003 + to * 7'919 + i * 13 + round * 104'729;
}

// One alltoall in flight, with its buffers.
struct Exchange {
    std::vector<int> sent;
    std::vector<int> received;
    MPI_Request request = MPI_REQUEST_NULL;

    Exchange(MPI_Comm communicator, int count, int round = 0)
        : communicator_(communicator), count_(count), round_(round) {
        const int ranks = size_of(communicator);
        const int rank = rank_in(communicator);
        received.assign(static_cast<std::size_t>(ranks * count), -1);
        for (int to = 0; to < ranks; ++to) {
            for (int i = 0; i < count; ++i) sent.push_back(value(rank, to, i, round));
        }
    }
    void start() {
        MPI_Ialltoall(sent.data(), count_, MPI_INT, received.data(), count_, MPI_INT, communicator_,
                      &request);
    }
    bool right() const {
        const int rank = rank_in(communicator_);
        std::size_t at = 0;
        for (int from = 0; from < size_of(communicator_); ++from) {
            for (int i = 0; i < count_; ++i) {
                if (received[at++] != value(from, rank, i, round_)) return false;
            }
        }
        return true;
    }

  private:
    MPI_Comm communicator_;
    int count_;
    int round_;
};
