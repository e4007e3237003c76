#include "mpi/calls/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "mpi/job/runtime.hpp"
#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

bool is_contiguous(const Elements& elements) {
    return elements.bytes() == 0 || elements.layout.contiguous;
}

device::Location place_of(const Elements& elements, const device::Location& near, int* error) {
    try {
        return elements.place(near);
    } catch (const Error& failed) {
        *error = device_error(failed);
        return {};
    }
}

// Packs elements that are in the memory of a device, at least some of them. When the driver refuses, the list
// runs with zeros, since the other ranks wait for it, and the request has the error.
class FromDevice {
  public:
    FromDevice(Request& request, std::byte* packed, std::uint64_t bytes)
        : request_(request), packed_(packed), bytes_(bytes) {}
    void pack(const device::Location& place, const Elements& elements, std::byte* to) {
        if (place.on_device()) count(request_, elements.bytes());
        if (error_ == MPI_SUCCESS && elements.bytes() > 0)
            error_ = data_.pack(place, elements.address, elements.count, elements.type, elements.layout, to);
    }
    void finish() {
        if (error_ == MPI_SUCCESS) error_ = data_.finish();
        if (error_ == MPI_SUCCESS) return;
        std::memset(packed_, 0, bytes_);
        request_.error = error_;
    }

  private:
    static void count(const Request& request, std::uint64_t bytes) {
        CollectiveCount& counted = runtime.report.of(request.collective);
        ++counted.device_buffers;
        counted.bytes_from_devices += bytes;
    }
    Request& request_;
    std::byte* packed_;
    std::uint64_t bytes_;
    DeviceData data_;
    int error_ = MPI_SUCCESS;
};

std::byte* packed_from_device(Request& request, const device::Location& place, const Elements& elements) {
    std::byte* const packed = request.device_staging.take(place, elements.bytes());
    FromDevice from(request, packed, elements.bytes());
    from.pack(place, elements, packed);
    from.finish();
    return packed;
}

// What a list leaves in `packed` goes to `elements` when it is complete.
void unpack_later(Request& request, const Elements& elements, const std::byte* packed, int* error,
                  const device::Location& place = {}) {
    if (elements.bytes() == 0) return;
    Unpacking unpacking;
    unpacking.place = place;
    unpacking.bytes = packed;
    unpacking.elements = static_cast<char*>(const_cast<void*>(elements.address));
    unpacking.count = elements.count;
    unpacking.layout = elements.layout;
    // The program may free its datatype as soon as the call returns.
    *error = PMPI_Type_dup(elements.type, &unpacking.type);
    if (*error == MPI_SUCCESS) request.unpacking.push_back(unpacking);
}

}  // namespace

const std::byte* input(Request& request, const Elements& elements, int* error) {
    if (device::present()) {
        const device::Location place = place_of(elements, {}, error);
        if (place.on_device()) return packed_from_device(request, place, elements);
    }
    return is_contiguous(elements) ? static_cast<const std::byte*>(elements.address)
                                   : copied_input(request, elements, error);
}

const std::byte* copied_input(Request& request, const Elements& elements, int* error) {
    if (elements.bytes() == 0) return nullptr;
    if (device::present()) {
        const device::Location place = place_of(elements, {}, error);
        if (*error != MPI_SUCCESS) return nullptr;
        if (place.on_device()) return packed_from_device(request, place, elements);
    }
    std::byte* packed = request.in_staging.take(elements.bytes());
    if (elements.layout.contiguous)
        std::memcpy(packed, elements.address, elements.bytes());
    else
        *error = pack(elements.address, elements.count, elements.type, elements.layout, packed);
    return packed;
}

std::byte* output(Request& request, const Elements& elements, int* error) {
    return output_in_place(request, elements, 0, 0, error);
}

std::byte* output_in_place(Request& request, const Elements& elements, std::uint64_t first,
                           std::uint64_t number, int* error) {
    if (device::present()) {
        const device::Location place = place_of(elements, {}, error);
        if (place.on_device()) {
            std::byte* const packed = request.device_staging.take(place, elements.bytes());
            if (number > 0) {
                const Elements own = elements.from(static_cast<std::int64_t>(first), number);
                FromDevice from(request, packed, elements.bytes());
                from.pack(place, own, packed + first * own.layout.size);
                from.finish();
            }
            unpack_later(request, elements, packed, error, place);
            return packed;
        }
    }
    if (is_contiguous(elements)) return static_cast<std::byte*>(const_cast<void*>(elements.address));
    std::byte* packed = request.out_staging.take(elements.bytes());
    if (number > 0) {
        const Elements own = elements.from(static_cast<std::int64_t>(first), number);
        *error = pack(own.address, own.count, own.type, own.layout, packed + first * own.layout.size);
    }
    if (*error == MPI_SUCCESS) unpack_later(request, elements, packed, error);
    return packed;
}

bool Blocks::refused() const {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [](const Block& block) { return block.elements.refused(); });
}

bool Blocks::refused_where_gathered() const {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [](const Block& block) { return block.elements.refused_where_gathered(); });
}

void Blocks::find_device(const Elements& elements) {
    try {
        const device::Location place = elements.place(place_);
        if (place.on_device()) place_ = place;
    } catch (const Error& failed) {
        device_error_ = device_error(failed);
    }
}

bool Blocks::in_place() const {
    return device_error_ == MPI_SUCCESS && !place_.on_device() &&
           std::all_of(blocks_.begin(), blocks_.end(),
                       [](const Block& block) { return is_contiguous(block.elements); });
}

std::uint64_t Blocks::bytes() const {
    std::uint64_t sum = 0;
    for (const Block& block : blocks_) sum += block.elements.bytes();
    return sum;
}

// The lowest address of a block that has bytes.
const char* Blocks::base() const {
    const char* lowest = nullptr;
    for (const Block& block : blocks_) {
        const char* address = static_cast<const char*>(block.elements.address);
        if (block.elements.bytes() > 0 && (lowest == nullptr || std::less<>()(address, lowest)))
            lowest = address;
    }
    return lowest;
}

std::vector<Part> Blocks::parts() const {
    std::vector<Part> parts;
    parts.reserve(blocks_.size());
    const bool here = in_place();
    const char* const lowest = here ? base() : nullptr;
    std::uint64_t packed = 0;
    for (const Block& block : blocks_) {
        const std::uint64_t bytes = block.elements.bytes();
        Part part{block.peer, 0, bytes};
        if (bytes > 0) {
            part.offset =
                here ? static_cast<std::uint64_t>(static_cast<const char*>(block.elements.address) - lowest)
                     : packed;
        }
        packed += bytes;
        parts.push_back(part);
    }
    return parts;
}

// Packs the blocks [first, last) to their places among all.
void Blocks::pack_some(Request& request, std::size_t first, std::size_t last, std::byte* packed,
                       int* error) const {
    if (device_error_ != MPI_SUCCESS) *error = device_error_;
    if (*error != MPI_SUCCESS) return;
    FromDevice from(request, packed, bytes());
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < last && *error == MPI_SUCCESS; ++i) {
        const Elements& elements = blocks_[i].elements;
        if (i >= first && elements.bytes() > 0) {
            if (place_.on_device())
                from.pack(place_of(elements, place_, error), elements, packed + at);
            else if (elements.layout.contiguous)
                std::memcpy(packed + at, elements.address, elements.bytes());
            else
                *error = pack(elements.address, elements.count, elements.type, elements.layout, packed + at);
        }
        at += elements.bytes();
    }
    from.finish();
}

std::byte* Blocks::take_room(Request& request, Staging& staging) const {
    return place_.on_device() ? request.device_staging.take(place_, bytes()) : staging.take(bytes());
}

const std::byte* Blocks::input(Request& request, int* error) const {
    if (in_place()) return reinterpret_cast<const std::byte*>(base());
    std::byte* const packed = take_room(request, request.in_staging);
    pack_some(request, 0, blocks_.size(), packed, error);
    return packed;
}

const std::byte* Blocks::copied_input(Request& request, int* error) const {
    const std::byte* const found = input(request, error);
    if (!in_place() || found == nullptr) return found;
    std::uint64_t end = 0;
    const std::vector<Part> all = parts();
    for (const Part& part : all) end = std::max(end, part.bytes > 0 ? part.offset + part.bytes : 0);
    std::byte* const copy = request.in_staging.take(end);
    // Memory between the blocks need not be the program's: it is not read.
    for (const Part& part : all) std::memcpy(copy + part.offset, found + part.offset, part.bytes);
    return copy;
}

std::byte* Blocks::output(Request& request, int* error) const {
    return output_in_place(request, blocks_.size(), error);
}

std::byte* Blocks::output_in_place(Request& request, std::size_t own, int* error) const {
    if (in_place()) return reinterpret_cast<std::byte*>(const_cast<char*>(base()));
    std::byte* const packed = take_room(request, request.out_staging);
    if (device_error_ != MPI_SUCCESS) *error = device_error_;
    if (own < blocks_.size()) pack_some(request, own, own + 1, packed, error);
    std::uint64_t at = 0;
    for (const Block& block : blocks_) {
        if (*error != MPI_SUCCESS) break;
        const device::Location place =
            place_.on_device() ? place_of(block.elements, place_, error) : device::Location();
        if (*error == MPI_SUCCESS) unpack_later(request, block.elements, packed + at, error, place);
        at += block.elements.bytes();
    }
    return packed;
}

}  // namespace lapwing
