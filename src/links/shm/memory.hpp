// The memory that the ranks of one host share. One rank makes it, without a name: the system frees it when
// the last rank has ended, in whichever way.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

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

    Memory() = default;
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    ~Memory();

    int descriptor() const { return descriptor_; }
    // Maps the first `bytes`. Throws Error (system).
    std::byte* map(std::uint64_t bytes);
    // No other process can open it here any more.
    void close();

  private:
    int descriptor_ = -1;
    std::byte* address_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace lapwing::shm
