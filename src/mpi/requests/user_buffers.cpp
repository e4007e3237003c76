#include "mpi/requests/user_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "mpi/job/report.hpp"
#include "mpi/native/packing.hpp"

namespace lapwing {
namespace {

// Packs elements one after the other. If a driver fails, the packed data become zeros.
class Packer {
  public:
    Packer(PackedData& data, std::byte* packed, std::uint64_t bytes,
           const std::optional<device::Location>& device)
        : packed_data_(data), packed_(packed), bytes_(bytes), device_(device) {}

    // Returns the MPI's error code.
    int pack(const Elements& elements, std::byte* to) {
        if (elements.bytes() == 0) return MPI_SUCCESS;
        if (!device_) {
            if (!elements.layout.contiguous)
                return lapwing::pack(elements.address, elements.count, elements.type, elements.layout, to);
            std::memcpy(to, elements.address, elements.bytes());
            return MPI_SUCCESS;
        }
        device::Location place;
        try {
            place = elements.place(*device_);
        } catch (const Error& error) {
            return device_error(error);
        }
        if (place.on_device()) {
            ++packed_data_.count->device_buffers;
            packed_data_.count->bytes_from_devices += elements.bytes();
        }
        if (driver_error_ == MPI_SUCCESS)
            driver_error_ =
                data_.pack(place, elements.address, elements.count, elements.type, elements.layout, to);
        return MPI_SUCCESS;
    }
    void finish() {
        if (!device_) return;
        if (driver_error_ == MPI_SUCCESS) driver_error_ = data_.finish();
        if (driver_error_ == MPI_SUCCESS) return;
        std::memset(packed_, 0, bytes_);
        packed_data_.error = driver_error_;
    }

  private:
    PackedData& packed_data_;
    std::byte* packed_;
    std::uint64_t bytes_;
    const std::optional<device::Location>& device_;
    DeviceData data_;
    int driver_error_ = MPI_SUCCESS;
};

// Adds `elements` to the data that are unpacked from `packed` when the list is complete.
int unpack_later(PackedData& data, const Elements& elements, std::byte* packed,
                 const std::optional<device::Location>& device, const std::optional<AssociativeForm>& form) {
    if (elements.bytes() == 0) return MPI_SUCCESS;
    Unpacking unpacking;
    if (device) {
        try {
            unpacking.place = elements.place(*device);
        } catch (const Error& error) {
            return device_error(error);
        }
    }
    unpacking.bytes = packed;
    unpacking.elements = static_cast<char*>(const_cast<void*>(elements.address));
    unpacking.count = elements.count;
    unpacking.layout = elements.layout;
    unpacking.form = form;
    // The program may free its datatype as soon as the call returns.
    const int error = PMPI_Type_dup(elements.type, &unpacking.type);
    if (error == MPI_SUCCESS) data.unpacking.push_back(unpacking);
    return error;
}

}  // namespace

void UserBuffer::find_device(const Elements& elements) {
    try {
        const device::Location place = elements.place(device_.value_or(device::Location()));
        if (!place.on_device()) return;
        device_ = place;
    } catch (const Error& failed) {
        device_error_ = device_error(failed);
    }
    packs_ = true;
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

std::vector<Part> UserBuffer::parts() const {
    std::vector<Part> parts;
    parts.reserve(blocks().size());
    const std::byte* const lowest = packs_ ? nullptr : first_byte();
    std::uint64_t packed = 0;
    for (const auto& [peer, elements] : blocks()) {
        const std::uint64_t bytes = elements.bytes();
        const std::uint64_t offset =
            packs_ ? packed
                   : static_cast<std::uint64_t>(static_cast<const std::byte*>(elements.address) - lowest);
        parts.push_back({peer, bytes > 0 ? offset : 0, bytes});
        if (!repeats_) packed += bytes;
    }
    return parts;
}

std::byte* UserBuffer::take_room(PackedData& data, Staging& staging) const {
    const std::uint64_t room = in_form(bytes());
    return device_ ? data.device.take(*device_, room) : staging.take(room);
}

const std::byte* UserBuffer::packed_to_send(PackedData& data, int* error) const {
    if (!packs_) {
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
    std::byte* const packed = take_room(data, data.in);
    *error = device_error_;
    // Elements that are converted are packed at the end of the room of their new form.
    std::byte* const elements = packed + in_form(bytes()) - bytes();
    Packer packer(data, elements, bytes(), device_);
    std::uint64_t at = 0;
    for (const Block& block : packed_blocks()) {
        if (*error != MPI_SUCCESS) break;
        *error = packer.pack(block.elements, elements + at);
        at += block.elements.bytes();
    }
    packer.finish();
    if (form_) form_->encode(packed, elements, bytes());
    return packed;
}

std::byte* UserBuffer::packed_to_receive(PackedData& data, int* error) const {
    std::byte* const packed = take_room(data, data.out);
    *error = device_error_;
    if (contribution_ && *error == MPI_SUCCESS) {
        std::byte* const elements = packed + in_form(bytes()) - bytes();
        Packer packer(data, elements, bytes(), device_);
        *error = packer.pack(contribution_->elements, elements + contribution_->offset);
        packer.finish();
        if (form_) form_->encode(packed, elements, bytes());
    }
    std::uint64_t at = 0;
    for (const Block& block : blocks()) {
        if (*error != MPI_SUCCESS) break;
        *error = unpack_later(data, block.elements, packed + at, device_, form_);
        at += block.elements.bytes();
    }
    return packed;
}

}  // namespace lapwing
