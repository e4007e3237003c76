#include "mpi/calls/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

bool is_contiguous(const Elements& elements) {
    return elements.bytes() == 0 || elements.layout.contiguous;
}

// What a list leaves in `packed` goes to `elements` when it is complete.
void unpack_later(Request& request, const Elements& elements, const std::byte* packed, int* error) {
    if (elements.bytes() == 0) return;
    Unpacking unpacking;
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
    return is_contiguous(elements) ? static_cast<const std::byte*>(elements.address)
                                   : copied_input(request, elements, error);
}

const std::byte* copied_input(Request& request, const Elements& elements, int* error) {
    if (elements.bytes() == 0) return nullptr;
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

bool Blocks::in_place() const {
    return std::all_of(blocks_.begin(), blocks_.end(),
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

int Blocks::pack_one(std::size_t which, std::byte* packed) const {
    const Elements& elements = blocks_[which].elements;
    if (elements.bytes() == 0) return MPI_SUCCESS;
    if (!elements.layout.contiguous)
        return pack(elements.address, elements.count, elements.type, elements.layout, packed);
    std::memcpy(packed, elements.address, elements.bytes());
    return MPI_SUCCESS;
}

const std::byte* Blocks::input(Request& request, int* error) const {
    if (in_place()) return reinterpret_cast<const std::byte*>(base());
    std::byte* packed = request.in_staging.take(bytes());
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < blocks_.size() && *error == MPI_SUCCESS; ++i) {
        *error = pack_one(i, packed + at);
        at += blocks_[i].elements.bytes();
    }
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
    std::byte* packed = request.out_staging.take(bytes());
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < blocks_.size() && *error == MPI_SUCCESS; ++i) {
        if (i == own) *error = pack_one(i, packed + at);
        if (*error == MPI_SUCCESS) unpack_later(request, blocks_[i].elements, packed + at, error);
        at += blocks_[i].elements.bytes();
    }
    return packed;
}

}  // namespace lapwing
