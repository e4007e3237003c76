// One random collective: the same call for the program's function and for the MPI's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fuzz/data.hpp"

namespace fuzz {

struct Place {
    MPI_Comm communicator = MPI_COMM_NULL;
    std::string name;
    int rank = 0;
    int ranks = 0;
    bool has_neighbors = false;
};

// Collective over the communicator: `random` is equal on all its ranks.
class Operation {
  public:
    Operation(const Place& place, Random& random);
    ~Operation();

    const std::string& what() const { return what_; }
    // By the function that the program calls; and by the MPI's own, which blocks. Each has its own buffers,
    // equal at the beginning.
    int start(MPI_Request* request);
    // A request for MPI_Start instead.
    int make_persistent(MPI_Request* request);
    int run_by_mpi();
    // For another start: the buffers of the program's function as at the beginning.
    void rewind();
    // Or both functions' buffers with other bytes.
    void refill(int start);
    // Frees its types, its operator, and its vectors of counts, displacements and types, which Lapwing does
    // not use any more when it is started.
    void forget_arguments();
    // Where the two results differ: a sentence; empty: nowhere.
    std::string difference() const;

    // Whether it is a persistent request that is made just now.
    static bool is_persistent() { return persistent_; }
    // From now on half of the buffers of the program's functions are in the memory of a device.
    static void use_device() { device_ = true; }

  private:
    struct Making;
    struct Buffers {
        std::unique_ptr<Memory> sent;  // null: none, or in place
        std::unique_ptr<Memory> received;

        void fill(std::uint64_t seed);
    };
    using Start = std::function<int(void* sent, void* received, MPI_Request* request)>;

    int run(Buffers& own, MPI_Request* request);

    std::string what_;
    std::vector<std::unique_ptr<Layout>> layouts_;
    MPI_Op op_ = MPI_OP_NULL;
    bool owns_op_ = false;
    bool in_place_ = false;  // a rank that sends, as the root of a scatter, receives in place
    // So far the result reaches, from its address: behind it an MPI may leave what it likes.
    std::ptrdiff_t compared_ = PTRDIFF_MAX;
    Buffers buffers_[2];
    std::uint64_t seed_ = 0;  // of their bytes
    Start start_;
    static bool persistent_;
    static bool device_;
};

}  // namespace fuzz
