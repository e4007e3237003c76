// TCP connections between all ranks, for barriers in which ranks sleep.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lapwing::bench {

class Mesh {
  public:
    // Connects all ranks of the communicator; collective. Throws Error when a rank cannot be reached within
    // half a minute, or when the interface does not exist.
    Mesh(MPI_Comm communicator, const std::string& interface);
    ~Mesh();
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    const std::string& address() const { return address_; }  // of this rank, as text

    // A barrier. Waiting ranks sleep and so do not disturb ranks that still compute. Ranks leave it tens of
    // microseconds apart.
    void sleeping_barrier();
    // The same for ranks that all arrive soon: waiting ranks yield and poll again.
    void yielding_barrier();

  private:
    void barrier(bool sleep);

    int rank_ = 0;
    int ranks_ = 0;
    std::string address_;
    std::vector<int> peers_;  // descriptors by peer; -1 for the own rank
};

}  // namespace lapwing::bench
