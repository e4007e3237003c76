#include "mpi/requests/user_buffers.hpp"

#include <cstring>
#include <functional>

#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

// Packs elements. If a driver fails, the packed data become zeros.
class Packer {
  public:
    Packer(PackedData& data, const Staged& staged, std::byte* packed, std::uint64_t bytes)
        : packed_data_(data), staged_(staged), packed_(packed), bytes_(bytes) {}

    // Returns the MPI's error code.
    int pack(const Elements& elements, std::uint64_t offset) {
        std::byte* const to = packed_ + offset;
        if (elements.bytes() == 0) return MPI_SUCCESS;
        if (!staged_.device) return lapwing::pack(elements, to);
        device::Location place;
        if (const int error = find_place(elements, *staged_.device, place); error != MPI_SUCCESS)
            return error;
        if (place.on_device()) {
            ++packed_data_.count->device_buffers;
            packed_data_.count->bytes_from_devices += elements.bytes();
        }
        if (driver_error_ == MPI_SUCCESS) driver_error_ = data_.pack(place, elements, to);
        return MPI_SUCCESS;
    }
    void finish() {
        if (driver_error_ == MPI_SUCCESS) driver_error_ = data_.finish();
        if (driver_error_ != MPI_SUCCESS) {
            std::memset(packed_, 0, bytes_);
            packed_data_.error = driver_error_;
        }
    }

  private:
    PackedData& packed_data_;
    const Staged& staged_;
    std::byte* packed_;
    std::uint64_t bytes_;
    DeviceData data_;
    int driver_error_ = MPI_SUCCESS;
};

std::byte* take_room(PackedData& data, Staging& staging, const Staged& staged, std::uint64_t bytes) {
    return staged.device ? data.device.take(*staged.device, bytes) : staging.take(bytes);
}

// Adds `elements` to the data that are unpacked from `packed` when the list is complete.
int unpack_later(PackedData& data, const Elements& elements, const std::byte* packed, const Staged& staged) {
    if (elements.bytes() == 0) return MPI_SUCCESS;
    Unpacking unpacking{packed, elements, {}};
    int error = MPI_SUCCESS;
    if (staged.device) error = find_place(elements, *staged.device, unpacking.place);
    if (error != MPI_SUCCESS) return error;
    hold_type(elements.type);
    data.unpacking.push_back(unpacking);
    return MPI_SUCCESS;
}

}  // namespace

int PackedData::unpack() {
    DeviceData copies;
    for (const auto& [bytes, elements, place] : unpacking) {
        if (place.on_device()) {
            ++count->device_buffers;
            count->bytes_to_devices += elements.bytes();
        }
        const int failed = copies.unpack(place, bytes, elements);
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

bool UserBuffer::refused() const {
    return std::ranges::any_of(blocks(), [](const Block& block) { return block.elements.refused(); });
}

bool UserBuffer::refused_where_gathered() const {
    return std::ranges::any_of(blocks(),
                               [](const Block& block) { return block.elements.refused_where_gathered(); });
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
    const Range of_some = whole(some);
    const Range of_others = whole(others);
    if (of_some.end <= of_others.begin || of_others.end <= of_some.begin) return false;
    const auto sorted = [](std::span<const Block> blocks) {
        std::vector<Range> ranges;
        for (const Block& block : blocks) {
            if (block.elements.bytes() > 0) ranges.push_back(range_of(block));
        }
        std::ranges::sort(ranges, {}, &Range::begin);
        return ranges;
    };
    const std::vector<Range> left = sorted(some);
    const std::vector<Range> right = sorted(others);
    // Blocks of one side may overlap each other: a program may send the same data twice.
    std::uintptr_t left_end = 0;
    std::uintptr_t right_end = 0;
    for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
        const bool takes_left = j == right.size() || (i < left.size() && left[i].begin < right[j].begin);
        const Range& next = takes_left ? left[i++] : right[j++];
        if (next.begin < (takes_left ? right_end : left_end)) return true;
        std::uintptr_t& end = takes_left ? left_end : right_end;
        end = std::max(end, next.end);
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

const std::byte* UserBuffer::packed_to_send(PackedData& data, int* error) const {
    std::byte* const packed = take_room(data, data.in, *staged_, bytes());
    *error = staged_->device_error;
    Packer packer(data, *staged_, packed, bytes());
    std::uint64_t at = 0;
    for (const Block& block : packed_blocks()) {
        if (*error != MPI_SUCCESS) break;
        *error = packer.pack(block.elements, at);
        at += block.elements.bytes();
    }
    packer.finish();
    return packed;
}

std::byte* UserBuffer::packed_to_receive(PackedData& data, int* error) const {
    std::byte* const packed = take_room(data, data.out, *staged_, bytes());
    *error = staged_->device_error;
    if (contribution_ && *error == MPI_SUCCESS) {
        Packer packer(data, *staged_, packed, bytes());
        *error = packer.pack(contribution_->elements, contribution_->offset);
        packer.finish();
    }
    std::uint64_t at = 0;
    for (const Block& block : blocks()) {
        if (*error != MPI_SUCCESS) break;
        *error = unpack_later(data, block.elements, packed + at, *staged_);
        at += block.elements.bytes();
    }
    return packed;
}

}  // namespace lapwing
