// The link over the point-to-point messages of the native MPI, on a private duplicate of the program's
// communicator, so that they can never meet the program's own. A channel is a tag. Compiled once for each
// MPI.
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
    // Begins to duplicate `communicator`, without waiting for the other ranks; a group of one needs no
    // duplicate. Collective over the communicator. The duplicate is made once begin() has been called and
    // ready() is true.
    MpiLink() = default;
    MpiLink(const MpiLink&) = delete;
    MpiLink& operator=(const MpiLink&) = delete;
    // The duplicate must have been given up or freed before.
    ~MpiLink() override = default;

    void begin(MPI_Comm communicator);
    // Frees the duplicate; nothing may be in flight. Does nothing before ready().
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
    std::uint32_t tags_ = 32768;  // the standard's least
};

}  // namespace lapwing
