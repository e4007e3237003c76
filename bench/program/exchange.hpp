// One collective of one size: its buffers, its calls, and whether its result is right. The data encodes
// sender, receiver and iteration, so that no wrong data passes the check.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program/settings.hpp"

namespace lapwing::bench {

class Exchange {
  public:
    // `calls` counts the calls of the collective. Throws Error (invalid_argument) when uneven blocks lie
    // beyond what MPI's displacements reach.
    Exchange(Collective collective, std::uint64_t bytes, int rank, int ranks, std::uint64_t& calls,
             int root = 0);

    // Puts this iteration's data into the buffers. All ranks give the same number.
    void fill(std::uint64_t iteration);
    void start(MPI_Comm communicator, MPI_Request& request);
    // The blocking form, to its end.
    void call(MPI_Comm communicator);
    // Throws Error (internal) naming rank, engine, byte and block when something else arrived.
    void check(const std::string& engine) const;
    // Makes one received byte wrong; a rank that receives nothing keeps what it has.
    void corrupt();

    Collective collective() const { return collective_; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    struct Block {
        std::uint64_t offset;
        std::uint64_t length;
        int from;
        int to;  // to_all: the same for every rank
    };
    // A buffer, and the blocks in it, one after the other.
    struct Side {
        std::vector<unsigned char> buffer;
        std::vector<Block> blocks;
        // The same for MPI; only where blocks are uneven.
        std::vector<int> counts;
        std::vector<int> displacements;

        void add(std::uint64_t length, int from, int to);
        void tell_mpi();
    };

    template <typename Act>
    void with_arguments(MPI_Comm communicator, Act act);
    void refuse(const std::string& engine, std::uint64_t byte, const std::string& of) const;

    Collective collective_;
    std::uint64_t bytes_;
    int rank_;
    int ranks_;
    std::uint64_t& calls_;
    int root_;
    std::uint64_t iteration_ = 0;
    Side out_;
    Side in_;
};

}  // namespace lapwing::bench
