// The link over point-to-point messages of the native MPI. It has a private duplicate of the program's
// communicator: its messages never match the program's. A channel is a tag. Compiled once for each MPI.
#pragma once

#include <mpi.h>

#include "base/error.hpp"
#include "links/link.hpp"

namespace lapwing {

// The native MPI returned an error code.
class MpiError : public Error {
  public:
    explicit MpiError(int code);
    int mpi_code() const noexcept { return mpi_code_; }

  private:
    int mpi_code_;
};

class MpiLink : public Link {
  public:
    MpiLink() = default;
    MpiLink(const MpiLink&) = delete;
    MpiLink& operator=(const MpiLink&) = delete;
    // Does not free the duplicate.
    ~MpiLink() override = default;

    // Starts to duplicate `communicator`, without waiting for the other ranks; ready() is true when the
    // duplicate is made. Collective over the communicator. A group of one rank needs no duplicate.
    void begin(MPI_Comm communicator);
    // Frees the duplicate; no transfer may be in flight. Does nothing before ready().
    void free();

    const char* name() const override { return "mpi"; }
    bool ready() override;
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    bool test(Transfer& transfer) override;
    void progress() override;

  private:
    int tag(std::uint32_t channel) const;

    MPI_Comm duplicate_ = MPI_COMM_NULL;
    MPI_Request duplication_ = MPI_REQUEST_NULL;
    bool ready_ = false;
    std::uint32_t tags_ = 32768;  // the minimum of the standard
};

}  // namespace lapwing
