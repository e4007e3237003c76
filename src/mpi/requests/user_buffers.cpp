#include "mpi/requests/user_buffers.hpp"

#include <cstring>
#include <functional>

#include "mpi/job/runtime.hpp"
#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

std::byte* take_room(PackedData& data, Staging& staging, const Staged& staged, std::uint64_t bytes) {
    return staged.device ? data.device.take(*staged.device, bytes) : staging.take(bytes);
}

}  // namespace

int PackedData::unpack() {
    DeviceData copies;
    for (const auto& [bytes, elements, place] : unpacking) {
        if (place.on_device()) {
            ++runtime.report.devices.buffers;
            runtime.report.devices.bytes_to_devices += elements.bytes();
        }
        const int failed = copies.transfer(false, place, elements, bytes);
        if (failed != MPI_SUCCESS) return failed;
    }
    return copies.finish();
}

void PackedData::release() {
    for (const Unpacking& part : unpacking) release_type(part.elements.type);
    unpacking.clear();
    if (!device.empty()) device.release();
}

void UserBuffer::find_device(const Elements& elements) {
    device::Location place;
    const int error =
        find_place(elements, staged_ && staged_->device ? *staged_->device : device::Location(), place);
    if (error != MPI_SUCCESS) stage().device_error = error;
    if (place.on_device()) stage().device = place;
}

void UserBuffer::contributes_block(std::size_t index) {
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < index; ++i) offset += several_[i].elements.bytes();
    contributes(several_[index].elements, offset);
}

std::uint64_t UserBuffer::bytes() const {
    std::uint64_t sum = 0;
    for (const Block& block : packed_blocks()) sum += block.elements.bytes();
    return sum;
}

const std::byte* UserBuffer::first_of_several() const {
    const std::byte* lowest = nullptr;
    for (const Block& block : several_) {
        const auto* const address = static_cast<const std::byte*>(block.elements.address);
        if (block.elements.bytes() > 0 && (lowest == nullptr || std::less<>()(address, lowest)))
            lowest = address;
    }
    return lowest;
}

bool UserBuffer::blocks_meet(std::span<const Block> some, std::span<const Block> others) {
    const auto whole = [](std::span<const Block> blocks) {
        Range range{UINTPTR_MAX, 0};
        for (const Block& block : blocks) {
            if (block.elements.bytes() == 0) continue;
            const Range of_block = range_of(block);
            range = {std::min(range.begin, of_block.begin), std::max(range.end, of_block.end)};
        }
        return range;
    };
    if (!whole(some).meets(whole(others))) return false;
    std::vector<std::pair<Range, int>> all;  // with the side
    for (const int side : {0, 1}) {
        for (const Block& block : side == 0 ? some : others) {
            if (block.elements.bytes() > 0) all.emplace_back(range_of(block), side);
        }
    }
    std::ranges::sort(all, {}, [](const auto& one) { return one.first.begin; });
    // Blocks of one side may overlap each other: a program may send the same data twice.
    std::uintptr_t ends[2] = {};
    for (const auto& [range, side] : all) {
        if (range.begin < ends[1 - side]) return true;
        ends[side] = std::max(ends[side], range.end);
    }
    return false;
}

void UserBuffer::describe(std::vector<Part>& parts) const {
    parts.clear();
    parts.reserve(blocks().size());
    const std::byte* const lowest = staged_ ? nullptr : first_byte();
    std::uint64_t packed = 0;
    for (const auto& [peer, elements] : blocks()) {
        const std::uint64_t bytes = elements.bytes();
        const std::uint64_t offset =
            staged_ ? packed
                    : static_cast<std::uint64_t>(static_cast<const std::byte*>(elements.address) - lowest);
        parts.push_back({peer, bytes > 0 ? offset : 0, bytes});
        if (!repeats_) packed += bytes;
    }
}

std::byte* UserBuffer::copied_to_send(PackedData& data) const {
    // The blocks keep their distances. Memory between them may not be the program's: it is not read.
    std::uint64_t end = 0;
    const std::vector<Part> all = parts();
    for (const Part& part : all) end = std::max(end, part.bytes > 0 ? part.offset + part.bytes : 0);
    std::byte* const copy = data.in.take(end);
    const std::byte* const from = first_byte();
    for (const Part& part : all) {
        if (part.bytes > 0) std::memcpy(copy + part.offset, from + part.offset, part.bytes);
    }
    return copy;
}

// If a driver fails, all packed data become zeros.
int UserBuffer::pack(std::span<const Block> some, std::uint64_t at, std::byte* packed,
                     PackedData& data) const {
    int error = staged_->device_error;
    DeviceData copies;
    int failed = MPI_SUCCESS;  // the first error of a driver
    for (const Block& block : some) {
        if (error != MPI_SUCCESS) break;
        const Elements& elements = block.elements;
        std::byte* const to = packed + at;
        at += elements.bytes();
        if (elements.bytes() == 0) continue;
        if (!staged_->device) {
            error = lapwing::pack(elements, to);
            continue;
        }
        device::Location place;
        error = find_place(elements, *staged_->device, place);
        if (error != MPI_SUCCESS) break;
        if (place.on_device()) {
            ++runtime.report.devices.buffers;
            runtime.report.devices.bytes_to_host += elements.bytes();
        }
        if (failed == MPI_SUCCESS) failed = copies.transfer(true, place, elements, to);
    }
    if (failed == MPI_SUCCESS) failed = copies.finish();
    if (failed != MPI_SUCCESS) {
        std::memset(packed, 0, bytes());
        data.error = failed;
    }
    return error;
}

const std::byte* UserBuffer::packed_to_send(PackedData& data, int* error) const {
    std::byte* const packed = take_room(data, data.in, *staged_, bytes());
    *error = pack(packed_blocks(), 0, packed, data);
    return packed;
}

std::byte* UserBuffer::packed_to_receive(PackedData& data, int* error) const {
    std::byte* const packed = take_room(data, data.out, *staged_, bytes());
    *error = contribution_ ? pack({&contribution_->own, 1}, contribution_->offset, packed, data)
                           : staged_->device_error;
    std::uint64_t at = 0;
    for (const auto& [peer, elements] : blocks()) {
        device::Location place;
        if (*error == MPI_SUCCESS && staged_->device) *error = find_place(elements, *staged_->device, place);
        if (*error != MPI_SUCCESS) break;
        if (elements.bytes() == 0) continue;
        hold_type(elements.type);
        data.unpacking.push_back({packed + at, elements, place});
        at += elements.bytes();
    }
    return packed;
}

}  // namespace lapwing
