// One collective of one size: its buffers, its calls, and whether its result is right.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "settings.hpp"

namespace lapwing::overlap {

// A communicator, and whose calls are made on it.
struct Caller {
    std::string engine;
    MPI_Comm communicator = MPI_COMM_NULL;
    bool direct = false;  // PMPI_*: nothing of Lapwing is in between

    void wait(MPI_Request& request) const;
    bool test(MPI_Request& request) const;
};

// What each rank moves when the collective is done in the simplest way: blocks straight to their targets, a
// broadcast down the binomial tree, a barrier by dissemination. At most one message to and from each peer.
struct Traffic {
    struct Send {
        int peer = 0;
        std::uint64_t bytes = 0;
        int after = 0;  // so many of the receives, in their order, come before
    };
    struct Receive {
        int peer = 0;
        std::uint64_t bytes = 0;
    };
    std::vector<Send> sends;
    std::vector<Receive> receives;

    std::uint64_t bytes() const;  // sent and received
};
Traffic traffic_of(Collective collective, std::uint64_t bytes, int rank, int ranks, int root);

class Exchange {
  public:
    Exchange(Collective collective, std::uint64_t bytes, int rank, int ranks, int root = 0);

    // Puts this iteration's data into the buffers. All ranks give the same number.
    void fill(std::uint64_t iteration);
    void start(const Caller& caller, MPI_Request& request);
    // Throws Error (internal) naming rank, engine, byte and block when something else arrived.
    void check(const Caller& caller) const;
    // Makes one received byte wrong; a rank that receives nothing keeps what it has.
    void corrupt();

    Collective collective() const { return collective_; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    void check_block(const Caller& caller, const unsigned char* block, int from, int to) const;

    Collective collective_;
    std::uint64_t bytes_;
    int rank_;
    int ranks_;
    int root_;
    std::uint64_t iteration_ = 0;
    std::vector<unsigned char> out_;
    std::vector<unsigned char> in_;
};

}  // namespace lapwing::overlap
