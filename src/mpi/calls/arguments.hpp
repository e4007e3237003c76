// The buffer arguments of the collectives, in the order in which MPI has them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/calls/profiled_bytes.hpp"
#include "mpi/calls/signatures.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/user_buffers.hpp"
#include "task/validation.hpp"

namespace lapwing {

inline bool plausible(MPI_Count count, MPI_Datatype type) {
    return count >= 0 && type != MPI_DATATYPE_NULL;
}

inline bool has_rank(const Communicator& group, int rank) {
    return rank >= 0 && rank < group.ranks;
}

// All ranks of a communicator, as the peers of a call.
struct AllRanks {
    std::size_t number;
    std::size_t size() const { return number; }
    int operator[](std::size_t rank) const { return static_cast<int>(rank); }
};

// Gives the buffer one block for each peer, `block(i)` for the i-th; MPI_PROC_NULL has none.
template <typename Peers, typename Block>
void set_blocks(UserBuffer& buffer, const Peers& peers, Block block) {
    buffer.reserve(peers.size());
    for (std::size_t i = 0; i < peers.size(); ++i) {
        if (peers[i] != MPI_PROC_NULL) buffer.add(peers[i], block(i));
    }
}

// The three kinds of arguments have in common:
//   plausible(blocks)   whether the arguments may be right for so many blocks, if not in place
//   is_like(other)      whether another argument has the same counts and type
//   set(all, ranks)     makes `all` the buffer with a block for each rank
//   set_for(all, peers) the same for neighbours
//   has_parts           whether the problem has Parts, because blocks differ
//   block_bytes(all)    bytes of one block, where it has no Parts
//   own_bytes(all, rank)  bytes of the block of that rank
//   recorded_bytes()    the same for the journal; 0 where blocks differ
//   profiled_bytes(peers)  bytes of one block, or of the blocks of so many peers, for the profile

// One block, or adjacent blocks of one size.
struct BlockArgument {
    static constexpr bool has_parts = false;
    const void* buffer;
    MPI_Count count;
    MPI_Datatype type;

    bool in_place() const { return buffer == MPI_IN_PLACE; }
    bool plausible(std::size_t = 1) const {
        return lapwing::plausible(count, type) &&
               !(may_be_no_buffer(buffer) && is_no_buffer(buffer, count > 0, type));
    }
    bool is_like(const BlockArgument& other) const { return count == other.count && type == other.type; }
    // Whether `one` is the rank's own block among these, as MPICH compares them. `size`: bytes of an element.
    bool has_own(const BlockArgument& one, std::uint64_t size, int rank) const {
        return count != 0 && is_like(one) &&
               is_aliased(one.buffer,
                          static_cast<const char*>(buffer) + rank * count * static_cast<MPI_Count>(size));
    }
    Elements elements(int blocks = 1) const {
        return {buffer, static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(blocks), type};
    }
    void set(UserBuffer& all, int ranks) const { all.set(elements(ranks)); }
    template <typename Peers>
    void set_for(UserBuffer& blocks, const Peers& peers) const {
        const Elements first(buffer, 0, type);
        set_blocks(blocks, peers, [&](std::size_t i) {
            return first.from(static_cast<std::int64_t>(i) * count, static_cast<std::uint64_t>(count));
        });
    }
    std::uint64_t block_bytes(const UserBuffer& all) const {
        return static_cast<std::uint64_t>(count) * all.block().layout.size;
    }
    std::uint64_t own_bytes(const UserBuffer& all, int) const { return block_bytes(all); }
    std::uint64_t recorded_bytes() const { return lapwing::recorded_bytes(count, type); }
    std::uint64_t profiled_bytes(int) const { return bytes_of(count, type); }
    // The rank's own block is in the buffer already.
    void contribute(UserBuffer& received, int rank) const {
        const MPI_Count first = rank * count;
        const Elements own = received.block().from(first, static_cast<std::uint64_t>(count));
        received.contributes(own, static_cast<std::uint64_t>(first) * own.layout.size);
    }
};

// Blocks of several sizes, at displacements in elements.
template <typename Count>
struct BlocksArgument {
    static constexpr bool has_parts = true;
    const void* buffer;
    const Count* counts;
    const DisplacementOf<Count>* displacements;
    MPI_Datatype type;

    bool in_place() const { return buffer == MPI_IN_PLACE; }
    bool is_like(const BlocksArgument& other) const { return counts == other.counts && type == other.type; }
    bool has_own(const BlockArgument& one, std::uint64_t size, int rank) const {
        return one.count != 0 && counts[rank] != 0 && type == one.type &&
               is_aliased(one.buffer, static_cast<const char*>(buffer) +
                                          displacements[rank] * static_cast<MPI_Aint>(size));
    }
    bool plausible(std::size_t blocks) const {
        if (counts == nullptr || displacements == nullptr || type == MPI_DATATYPE_NULL) return blocks == 0;
        const auto any = [&](auto is) { return std::any_of(counts, counts + blocks, is); };
        if (any([](Count one) { return one < 0; })) return false;
        return !may_be_no_buffer(buffer) ||
               !is_no_buffer(buffer, any([](Count one) { return one > 0; }), type);
    }
    void set(UserBuffer& all, int ranks) const { set_for(all, AllRanks{static_cast<std::size_t>(ranks)}); }
    template <typename Peers>
    void set_for(UserBuffer& blocks, const Peers& peers) const {
        if (peers.size() == 0) return;
        const Elements all(buffer, 0, type);
        set_blocks(blocks, peers, [&](std::size_t i) {
            return all.from(static_cast<std::int64_t>(displacements[i]),
                            static_cast<std::uint64_t>(counts[i]));
        });
    }
    std::uint64_t block_bytes(const UserBuffer&) const { return 0; }
    std::uint64_t own_bytes(const UserBuffer& all, int rank) const {
        return all.block(static_cast<std::size_t>(rank)).bytes();
    }
    std::uint64_t recorded_bytes() const { return 0; }
    std::uint64_t profiled_bytes(int peers) const {
        std::uint64_t elements = 0;
        for (int i = 0; counts != nullptr && i < peers; ++i)
            if (counts[i] > 0) elements += static_cast<std::uint64_t>(counts[i]);
        return elements * bytes_of(1, type);
    }
    void contribute(UserBuffer& received, int rank) const {
        received.contributes_block(static_cast<std::size_t>(rank));
    }
};

// Blocks of several sizes, at displacements in bytes and with a type for each block.
template <typename Count, typename Displacement>
struct TypedBlocksArgument {
    static constexpr bool has_parts = true;
    const void* buffer;
    const Count* counts;
    const Displacement* displacements;
    const MPI_Datatype* types;

    bool in_place() const { return buffer == MPI_IN_PLACE; }
    bool is_like(const TypedBlocksArgument& other) const {
        return counts == other.counts && types == other.types;
    }
    bool plausible(std::size_t blocks) const {
        if (counts == nullptr || displacements == nullptr || types == nullptr) return blocks == 0;
        for (std::size_t i = 0; i < blocks; ++i) {
            if (counts[i] < 0 || (counts[i] > 0 && types[i] == MPI_DATATYPE_NULL)) return false;
            // Displacements from MPI_BOTTOM are addresses.
            const bool at_buffer = buffer != nullptr || displacements[i] == 0;
            if (may_be_no_buffer(buffer) && at_buffer && is_no_buffer(buffer, counts[i] > 0, types[i]))
                return false;
        }
        return true;
    }
    void set(UserBuffer& all, int ranks) const { set_for(all, AllRanks{static_cast<std::size_t>(ranks)}); }
    template <typename Peers>
    void set_for(UserBuffer& blocks, const Peers& peers) const {
        set_blocks(blocks, peers, [&](std::size_t i) {
            // The type of an empty block may be invalid.
            const auto count = static_cast<std::uint64_t>(counts[i]);
            return count == 0
                       ? Elements()
                       : Elements(static_cast<const char*>(buffer) + displacements[i], count, types[i]);
        });
    }
    std::uint64_t block_bytes(const UserBuffer&) const { return 0; }
    std::uint64_t recorded_bytes() const { return 0; }
    std::uint64_t profiled_bytes(int peers) const {
        std::uint64_t bytes = 0;
        for (int i = 0; counts != nullptr && i < peers; ++i) bytes += bytes_of(counts[i], types[i]);
        return bytes;
    }
};

// MPI requires that a rank sends itself as many bytes as it receives from itself. No network reports a
// difference, because lists copy these blocks. If they differ, the call completes with MPI_ERR_TRUNCATE; but
// its list runs, because the other ranks wait for it: without these blocks, or as if the call were in place.
inline bool own_blocks_differ(std::uint64_t sent, std::uint64_t received, UserBuffers& buffers) {
    if (sent == received) return false;
    buffers.error = MPI_ERR_TRUNCATE;
    return true;
}

// The same for all blocks between the rank and itself among the parts.
inline void compare_own_blocks(Parts& parts, int rank, UserBuffers& buffers) {
    if (!differing_own_block(parts, rank)) return;
    buffers.error = MPI_ERR_TRUNCATE;
    for (std::vector<Part>* const all : {&parts.sends, &parts.receives}) {
        for (Part& part : *all) {
            if (part.peer == rank) part.bytes = 0;
        }
    }
}

// The parts of this rank, which the caller fills in.
inline Parts& own_parts(Problem& problem) {
    problem.parts.resize(1);
    return problem.parts.front();
}

// Describes the blocks of a problem: by their parts, or by the size of one block.
template <typename Argument>
void describe_blocks(Problem& problem, const UserBuffers& buffers, std::uint64_t block_bytes) {
    if constexpr (Argument::has_parts) {
        Parts& parts = own_parts(problem);
        buffers.sent.describe(parts.sends);
        buffers.received.describe(parts.receives);
    } else {
        problem.bytes = block_bytes;
    }
}

}  // namespace lapwing
