// The program's buffers of one collective, described as data. Each start turns the description into the
// addresses that a list uses. A persistent collective keeps the description.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/host_memory.hpp"
#include "device/memory.hpp"
#include "mpi/native/device_data.hpp"
#include "mpi/native/elements.hpp"
#include "mpi/native/reduction.hpp"
#include "task/problem.hpp"

namespace lapwing {

// Data to unpack into the program's buffer when the list is complete.
struct Unpacking {
    std::byte* bytes;
    Elements elements;  // of a type that is held: the program may free it
    device::Location place;
};

// The packed copies of the program's data that one collective in flight uses.
struct PackedData {
    Staging in;
    Staging out;
    device::HostMemory device;  // instead of the two, for data of a device
    std::vector<Unpacking> unpacking;
    // The call completes with this error, but its list runs, because the other ranks wait for it: a driver
    // failed to copy data from a device, and the list sends zeros instead; or UserBuffers::error.
    int error = MPI_SUCCESS;

    // Returns the MPI's error code.
    int unpack();
    // When the list no longer runs.
    void release();
};

// What a list needs that works on a packed copy of the program's data.
struct Staged {
    std::optional<device::Location> device;  // of the last block in the memory of a device
    int device_error = MPI_SUCCESS;
};

// The send buffer or the receive buffer of a call: one block of elements, several blocks, or nothing.
class UserBuffer {
  public:
    UserBuffer() {}  // sets a few members; a defaulted one clears all of them, which takes 10 ns

    // Makes it a buffer of one block. `peer` matters only where the problem has parts.
    void set(const Elements& elements, int peer = 0) {
        stage_if_needed(one_.emplace(peer, elements).elements);
    }

    // Of a buffer of several blocks.
    void reserve(std::size_t count) { several_.reserve(count); }
    void add(int peer, const Elements& elements) {
        stage_if_needed(several_.emplace_back(peer, elements).elements);
    }

    // All blocks are the same elements, which are packed once.
    void repeat_block() { repeats_ = true; }

    // The receive buffer already holds this rank's contribution: MPI_IN_PLACE. `offset`: bytes, from the
    // start of the packed buffer.
    void contributes(const Elements& own, std::uint64_t offset) {
        contribution_ = Contribution{{0, own}, offset};
    }
    void contributes_block(std::size_t index);  // of several

    bool empty() const { return !one_ && several_.empty(); }
    // The elements of a buffer of one block.
    const Elements& block() const { return one_->elements; }
    // Those of one block of a buffer of several.
    const Elements& block(std::size_t index) const { return several_[index].elements; }
    // Whether the MPI refuses one of the datatypes.
    bool refused() const { return any_block(&Elements::refused); }
    bool refused_where_gathered() const { return any_block(&Elements::refused_where_gathered); }
    std::uint64_t bytes() const;
    // The blocks as a list uses them: offsets count from send_address() or
    // receive_address().
    std::vector<Part> parts() const {
        std::vector<Part> all;
        describe(all);
        return all;
    }
    void describe(std::vector<Part>& parts) const;
    // Empty, with the memory for several blocks of the other one.
    void exchange_memory(UserBuffer& other) {
        several_.swap(other.several_);
        several_.clear();
    }

    // Calls `visit(type)` for the datatype of each block that has bytes.
    template <typename Visit>
    void for_each_type(Visit visit) const {
        for (const Block& block : blocks())
            if (block.elements.bytes() > 0) visit(block.elements.type);
    }

    // The address where a list reads the send buffer, or its packed data. `copies`: always a copy, because
    // the list may overwrite the program's data before it is sent. Null if there is nothing to send.
    const std::byte* send_address(PackedData& data, bool copies, int* error) const {
        return staged_ ? packed_to_send(data, error) : copies ? copied_to_send(data) : first_byte();
    }
    // Whether a list that writes to `received` would overwrite data of this buffer. MPI forbids it, and MPIs
    // give right results where programs do it: only this rank can see it, so its data are copied.
    bool overlaps(const UserBuffer& received) const {
        if (staged_ || received.staged_ || empty() || received.empty()) return false;
        return one_ && received.one_ ? range_of(*one_).meets(range_of(*received.one_))
                                     : blocks_meet(blocks(), received.blocks());
    }
    // The address where a list writes. Data that need unpacking are added to data.unpacking.
    std::byte* receive_address(PackedData& data, int* error) const {
        return staged_ ? packed_to_receive(data, error) : const_cast<std::byte*>(first_byte());
    }

  private:
    struct Block {
        Block(int of, const Elements& with) : peer(of), elements(with) {}
        int peer;
        Elements elements;
    };
    struct Contribution {
        Block own;
        std::uint64_t offset;
    };
    std::span<const Block> blocks() const {
        return one_ ? std::span<const Block>(&*one_, 1) : std::span<const Block>(several_);
    }
    bool any_block(bool (Elements::*is)() const) const {
        return std::ranges::any_of(blocks(), is, &Block::elements);
    }
    std::span<const Block> packed_blocks() const {
        return blocks().first(repeats_ ? std::min<std::size_t>(blocks().size(), 1) : blocks().size());
    }
    // The lowest address of a block that has bytes; null if none has.
    const std::byte* first_byte() const {
        if (!one_) return several_.empty() ? nullptr : first_of_several();
        return one_->elements.bytes() > 0 ? static_cast<const std::byte*>(one_->elements.address) : nullptr;
    }
    const std::byte* first_of_several() const;
    struct Range {
        std::uintptr_t begin;
        std::uintptr_t end;
        bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
    };
    static Range range_of(const Block& block) {
        const auto begin = reinterpret_cast<std::uintptr_t>(block.elements.address);
        return {begin, begin + block.elements.bytes()};
    }
    static bool blocks_meet(std::span<const Block> some, std::span<const Block> others);
    std::byte* copied_to_send(PackedData& data) const;
    // Packs these blocks one after the other, the first one at `at` of `packed`. Returns the MPI's error
    // code.
    int pack(std::span<const Block> some, std::uint64_t at, std::byte* packed, PackedData& data) const;
    const std::byte* packed_to_send(PackedData& data, int* error) const;
    std::byte* packed_to_receive(PackedData& data, int* error) const;
    Staged& stage() { return staged_ ? *staged_ : staged_.emplace(); }
    // Data that are not contiguous are packed; those of a device go through memory of the host.
    void stage_if_needed(const Elements& elements) {
        if (!elements.contiguous()) stage();
        if (device::present()) find_device(elements);
    }
    void find_device(const Elements& elements);

    std::optional<Block> one_;
    std::vector<Block> several_;
    bool repeats_ = false;
    std::optional<Contribution> contribution_;
    std::optional<Staged> staged_;  // empty: lists use the program's memory directly
};

struct UserBuffers {
    UserBuffer sent;
    UserBuffer received;
    // The list overwrites the send buffer before it is sent: alltoall in place.
    bool copies_sent = false;
    // The call completes with this error of MPI. The list uses only valid memory nevertheless.
    int error = MPI_SUCCESS;
    std::optional<MpiOperator> reduction;  // by the MPI's code

    UserBuffers() {}
};

// Memory for the blocks of a communicator's calls, which take turns with it.
class BlockMemory {
  public:
    // A new call has the memory until the second exchange.
    void exchange(Problem& problem, UserBuffers& buffers) {
        problem.parts.swap(parts_);
        buffers.sent.exchange_memory(sent_);
        buffers.received.exchange_memory(received_);
    }

  private:
    std::vector<Parts> parts_;
    UserBuffer sent_;
    UserBuffer received_;
};

}  // namespace lapwing
