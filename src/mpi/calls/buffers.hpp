// The program's buffers: elements of a datatype, and the bytes of them that a list sends and receives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/memory.hpp"
#include "mpi/native/datatype.hpp"
#include "mpi/native/device_data.hpp"
#include "mpi/native/refusals.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {

// Elements of one of the program's buffers, or none.
struct Elements {
    const void* address = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Layout layout;

    // The MPI refuses the type.
    bool refused() const { return layout.error != MPI_SUCCESS || (count > 0 && !layout.committed); }
    bool refused_where_gathered() const {
        return checks_gathered_types ? refused() : layout.error != MPI_SUCCESS;
    }
    std::uint64_t bytes() const { return count * layout.size; }
    // Whether the processor may not use it. Asks the drivers, if any: throws Error (system). `near`: of other
    // memory.
    device::Location place(const device::Location& near = {}) const {
        return device::present() && bytes() > 0 ? place_of(address, count, type, layout, near)
                                                : device::Location();
    }
    Elements from(std::int64_t first, std::uint64_t number) const {
        Elements some = *this;
        some.address = static_cast<const char*>(address) + static_cast<MPI_Aint>(first) * layout.extent;
        some.count = number;
        return some;
    }
};

// Where a list finds the bytes of `elements`: in place, or packed.
const std::byte* input(Request& request, const Elements& elements, int* error);
// The same as a copy of its own, when a list may overwrite the original before it is sent.
const std::byte* copied_input(Request& request, const Elements& elements, int* error);
// Where a list puts the bytes of `elements`. What is not in place there is put right at the end.
std::byte* output(Request& request, const Elements& elements, int* error);
// The same when the elements [first, first + number) hold the rank's own contribution already.
std::byte* output_in_place(Request& request, const Elements& elements, std::uint64_t first,
                           std::uint64_t number, int* error);

// Blocks of elements, one for each peer, at places of their own.
class Blocks {
  public:
    void reserve(std::size_t count) { blocks_.reserve(count); }
    void add(int peer, const Elements& elements) {
        blocks_.push_back({peer, elements});
        if (device::present()) find_device(elements);
    }
    // The MPI refuses the type of one of them.
    bool refused() const;
    bool refused_where_gathered() const;
    // No packing anywhere, nor a block in the memory of a device.
    bool in_place() const;
    // Where a list finds them: in place, counted from base(); or packed side by side.
    std::vector<Part> parts() const;
    std::uint64_t bytes() const;  // of all together

    // As the functions above, for the memory that parts() counts from.
    const std::byte* input(Request& request, int* error) const;
    const std::byte* copied_input(Request& request, int* error) const;
    std::byte* output(Request& request, int* error) const;
    // The block at `own` holds the rank's own contribution already.
    std::byte* output_in_place(Request& request, std::size_t own, int* error) const;

  private:
    struct Block {
        int peer;
        Elements elements;
    };
    const char* base() const;
    void find_device(const Elements& elements);
    std::byte* take_room(Request& request, Staging& staging) const;
    void pack_some(Request& request, std::size_t first, std::size_t last, std::byte* packed,
                   int* error) const;
    std::vector<Block> blocks_;
    device::Location place_;  // of the last block in the memory of a device
    int device_error_ = MPI_SUCCESS;
};

}  // namespace lapwing
