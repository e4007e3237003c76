// The program's buffers, described by MPI datatypes, as bytes that a list can name.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing {

// How elements of a datatype lie in memory.
struct Layout {
    std::uint64_t size = 0;   // bytes of data in one element
    MPI_Aint extent = 0;      // bytes from one element to the next
    bool contiguous = false;  // the bytes in memory are the packed bytes
    bool committed = true;
    int error = MPI_SUCCESS;
};
Layout layout_of(MPI_Datatype type);

// A buffer that is used again and only grows.
class Staging {
  public:
    std::byte* take(std::uint64_t bytes) {
        if (bytes > size_) {
            memory_.reset(new std::byte[bytes]);
            size_ = bytes;
        }
        return memory_.get();
    }
    // Frees a large buffer.
    void trim() {
        if (size_ > max_kept) {
            memory_.reset();
            size_ = 0;
        }
    }

  private:
    static constexpr std::uint64_t max_kept = 1 << 20;
    std::unique_ptr<std::byte[]> memory_;
    std::uint64_t size_ = 0;
};

}  // namespace lapwing
