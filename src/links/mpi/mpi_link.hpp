// The link over point-to-point messages of the native MPI. All groups share one communicator, which the
// program does not know: messages never match the program's. Each rank receives the messages of a group in a
// *slot* of its own choice, which no other group of that rank has; a tag is a slot and a channel. Therefore
// groups need no communicators of their own, and ranks may open groups in any order. Compiled once for each
// MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "links/link.hpp"

namespace lapwing {

// The slots of this process. Not thread-safe.
class MessageSlots {
  public:
    // A free slot. Throws Error (link) if the native MPI has no more tags.
    std::uint32_t take();
    void release(std::uint32_t slot) { used_[slot] = false; }

  private:
    std::vector<bool> used_{true, true};  // those of tags.hpp
};

class MpiLink : public Link {
  public:
    // `members`: the ranks of the group in `communicator`. `slots`: those that the members have taken for the
    // group. `rank`: of this process in the group.
    MpiLink(MPI_Comm communicator, std::vector<int> members, std::vector<std::uint32_t> slots, int rank);

    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    bool test(Transfer& transfer) override;
    void progress() override;

  private:
    MPI_Comm communicator_;
    std::vector<int> members_;
    std::vector<std::uint32_t> slots_;
    std::uint32_t own_slot_;
};

}  // namespace lapwing
