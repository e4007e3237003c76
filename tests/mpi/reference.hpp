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

// One alltoall, with its buffers.
struct Exchange {
    std::vector<int> sent;
    std::vector<int> received;
    MPI_Request request = MPI_REQUEST_NULL;

    Exchange(MPI_Comm communicator, int count, int round = 0)
        : communicator_(communicator),
          count_(count),
          ranks_(size_of(communicator)),
          rank_(rank_in(communicator)) {
        fill(round);
    }
    // The buffers stay where they are.
    void fill(int round) {
        round_ = round;
        received.assign(static_cast<std::size_t>(ranks_ * count_), -1);
        sent.resize(received.size());
        for (int at = 0; at < ranks_ * count_; ++at)
            sent[static_cast<std::size_t>(at)] = value(rank_, at / count_, at % count_, round);
    }
    void start() {
        MPI_Ialltoall(sent.data(), count_, MPI_INT, received.data(), count_, MPI_INT, communicator_,
                      &request);
    }
    bool right() const {
        for (int at = 0; at < ranks_ * count_; ++at)
            if (received[static_cast<std::size_t>(at)] != value(at / count_, rank_, at % count_, round_))
                return false;
        return true;
    }

  private:
    MPI_Comm communicator_;
    int count_;
    int ranks_;
    int rank_;
    int round_ = 0;
};
