// The memory that the ranks of one host share: made by one of them, without a name, so that nothing is left
// of it when the last of them has ended, whichever way.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing::shm {

using Proof = std::array<unsigned char, 16>;  // random; stands at the beginning of the memory

// The end that others map: a descriptor of this process.
class Memory {
  public:
    // Of so many bytes, all zero but for the proof; only what is used becomes memory. Throws Error (system).
    static Memory make(std::uint64_t bytes, const Proof& proof);
    // That of another process, by its descriptor there; it is the right one if it begins with the proof.
    // Throws Error (system).
    static Memory open(pid_t process, int descriptor, const Proof& proof);

    Memory() = default;
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    ~Memory();

    int descriptor() const { return descriptor_; }
    // Maps the first `bytes`. Throws Error (system). Nobody can open it here any more.
    std::byte* map(std::uint64_t bytes);
    void close();

  private:
    int descriptor_ = -1;
    std::byte* address_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace lapwing::shm
