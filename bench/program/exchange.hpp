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

// A communicator, and whose calls are made on it.
struct Caller {
    std::string engine;
    MPI_Comm communicator = MPI_COMM_NULL;
    bool direct = false;  // PMPI_*: nothing of Lapwing is in between

    void wait(MPI_Request& request) const;
    bool test(MPI_Request& request) const;
};

class Exchange {
  public:
    // Throws Error (invalid_argument) when uneven blocks lie beyond what MPI's displacements reach.
    Exchange(Collective collective, std::uint64_t bytes, int rank, int ranks, int root = 0);

    // Puts this iteration's data into the buffers. All ranks give the same number.
    void fill(std::uint64_t iteration);
    void start(const Caller& caller, MPI_Request& request);
    // The blocking form, to its end.
    void call(const Caller& caller);
    // Throws Error (internal) naming rank, engine, byte and block when something else arrived.
    void check(const Caller& caller) const;
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
    void with_arguments(const Caller& caller, Act act);
    void refuse(const Caller& caller, std::uint64_t byte, const std::string& of) const;

    Collective collective_;
    std::uint64_t bytes_;
    int rank_;
    int ranks_;
    int root_;
    std::uint64_t iteration_ = 0;
    Side out_;
    Side in_;
};

}  // namespace lapwing::bench
