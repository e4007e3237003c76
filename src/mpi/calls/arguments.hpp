// The arguments that the collectives with blocks share, in the order in which MPI has them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpi/calls/call.hpp"
#include "mpi/calls/signatures.hpp"

namespace lapwing {

inline bool plausible(MPI_Count count, MPI_Datatype type) {
    return count >= 0 && type != MPI_DATATYPE_NULL;
}

// One block, or blocks of one size, side by side.
struct BlockArgument {
    const void* buffer;
    MPI_Count count;
    MPI_Datatype type;

    bool in_place() const { return buffer == MPI_IN_PLACE; }
    // Where MPI_IN_PLACE has no meaning, as in the structs below.
    bool plausible(std::size_t = 1) const {
        return lapwing::plausible(count, type) &&
               !(may_be_no_buffer(buffer) && is_no_buffer(buffer, count > 0, type));
    }
    bool is_like(const BlockArgument& other) const { return count == other.count && type == other.type; }
    // Whether the one block is the rank's own among these, as MPICH compares them. `size`: of its elements.
    bool has_own(const BlockArgument& one, std::uint64_t size, int rank) const {
        return count != 0 && is_like(one) &&
               is_aliased(one.buffer,
                          static_cast<const char*>(buffer) + rank * count * static_cast<MPI_Count>(size));
    }
    Elements elements(CallContext& context, std::uint64_t blocks = 1) const {
        return context.elements(buffer, static_cast<std::uint64_t>(count) * blocks, type);
    }
    template <typename Peers>
    Blocks blocks(CallContext& context, const Peers& peers) const {
        const Elements all = context.elements(buffer, 0, type);
        return CallContext::blocks(peers, [&](std::size_t i) {
            return all.from(static_cast<std::int64_t>(i) * count, static_cast<std::uint64_t>(count));
        });
    }
};

// Blocks of several sizes at displacements in elements.
template <typename Count>
struct BlocksArgument {
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
    template <typename Peers>
    Blocks blocks(CallContext& context, const Peers& peers) const {
        if (peers.size() == 0) return {};
        const Elements all = context.elements(buffer, 0, type);
        return CallContext::blocks(peers, [&](std::size_t i) {
            return all.from(static_cast<std::int64_t>(displacements[i]),
                            static_cast<std::uint64_t>(counts[i]));
        });
    }
};

// The same with displacements in bytes and a type for each block.
template <typename Count, typename Displacement>
struct TypedBlocksArgument {
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
    template <typename Peers>
    Blocks blocks(CallContext& context, const Peers& peers) const {
        return CallContext::blocks(peers, [&](std::size_t i) {
            // A block without elements need not have a type that makes sense.
            const auto count = static_cast<std::uint64_t>(counts[i]);
            return count == 0 ? Elements()
                              : context.elements(static_cast<const char*>(buffer) + displacements[i], count,
                                                 types[i]);
        });
    }
};

}  // namespace lapwing
