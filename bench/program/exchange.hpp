// One collective of one size: the blocks and messages of its simplest form, the data in them, its buffers, and its calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program/settings.hpp"

namespace lapwing::bench {

// The messages of a collective in its simplest form: sizes, peers, and what each rank moves.

// Bytes of the vector that MPI_Iallreduce sums: whole elements, at least `bytes`.
std::uint64_t vector_bytes(std::uint64_t bytes);

// Bytes of the block that one rank has for another, or for itself; 0 when it has none. Uneven blocks are
// half a block shorter or longer than `bytes`, in turn. For collectives whose result is made of the blocks of
// several ranks, or goes to several: gathers, scatter, all-to-alls.
std::uint64_t block_bytes(Collective collective, std::uint64_t bytes, int from, int to, int root);

// Blocks go straight to their targets, a broadcast down the binomial tree, a barrier by dissemination; of the
// vector of an allreduce each rank gets its share from all, and gives the sum of it to all, which is one
// message of both here. At most one message to and from each peer.
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

    std::uint64_t bytes() const;    // sent and received
    std::uint64_t longest() const;  // message; 0 without one
};
Traffic traffic_of(Collective collective, std::uint64_t bytes, int rank, int ranks, int root);

// The data that ranks exchange: it encodes sender, receiver and iteration, so that no wrong data passes the
// check.

constexpr int to_all = -1;

// The bytes of a block depend on its sender, its receiver (or to_all), the iteration, and their offset.
void fill_block(unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from, int to);
// The first byte that is not as fill_block() writes it; `bytes` when all are.
std::uint64_t first_wrong(const unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from,
                          int to);

// Vectors of doubles that are integers, so that the sum over the ranks is exact in any order.
void fill_vector(unsigned char* vector, std::uint64_t bytes, std::uint64_t iteration, int from);
// The first byte that is not as in the sum of all ranks' vectors.
std::uint64_t first_wrong_of_sum(const unsigned char* sum, std::uint64_t bytes, std::uint64_t iteration,
                                 int ranks);

// One collective of one size: its buffers, its calls, and whether its result is right.

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
    // A buffer, and the blocks in it: one after the other, a block for each rank or one for all.
    struct Side {
        std::vector<unsigned char> buffer;
        std::vector<std::uint64_t> lengths;
        std::vector<std::uint64_t> places;
        // The same for MPI; only where blocks are uneven.
        std::vector<int> counts;
        std::vector<int> displacements;

        void make(const std::vector<std::uint64_t>& lengths_of_blocks);
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
