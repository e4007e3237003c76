// The memory that the ranks of one host share. One rank makes it, without a name: the system frees it when
// the last rank has ended, in whichever way.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/descriptor.hpp"

namespace lapwing::shm {

// Why the kernel refuses access to another process of this program, for the end of a message.
const char* why_refused();

using Proof = std::array<unsigned char, 16>;  // random; the first bytes of the memory

class Memory {
  public:
    // Makes memory of `bytes`, zero but for the proof; only pages that are used take memory. Throws Error
    // (system).
    static Memory make(std::uint64_t bytes, const Proof& proof);
    // Opens the memory of another process by its descriptor there, and checks the proof. Throws Error
    // (system).
    static Memory open(pid_t process, int descriptor, const Proof& proof);

    int descriptor() const { return descriptor_.get(); }
    // Maps the first `bytes`. Throws Error (system).
    std::byte* map(std::uint64_t bytes);
    // No other process can open it here any more.
    void close() { descriptor_.reset(); }

  private:
    struct Unmap {
        std::uint64_t bytes;
        void operator()(std::byte* address) const { ::munmap(address, bytes); }
    };

    Descriptor descriptor_;
    std::unique_ptr<std::byte, Unmap> mapped_;
};

}  // namespace lapwing::shm
