// What is to be done: a collective with its shape, as data. All ranks of the group describe it alike, except
// that a rank may know only its own Parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "task/placement.hpp"
#include "task/task.hpp"

namespace lapwing {

enum class Collective : std::uint8_t {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) name,
#include "task/collectives.def"
};

// A block that goes to `peer`, or comes from it.
struct Part {
    int peer = 0;
    std::uint64_t offset = 0;  // bytes, in the rank's input or out
    std::uint64_t bytes = 0;

    bool operator==(const Part&) const = default;
};

// One rank's blocks, where they are not all of one length side by side.
//   gatherv             sends: its block, to the root (none at the root when in_place)
//                       receives: at the root, from every rank in order
//   scatterv            sends: at the root, to every rank in order
//                       receives: its block, from the root (none at the root when in_place)
//   allgatherv          sends: its block, to itself (none when in_place); receives: from every rank in order
//   alltoallv           sends: to every rank in order; receives: from every rank in order
//   reduce_scatter      sends: for every rank in order, side by side; receives: its block, from itself
//   neighbor_allgather  sends: to each neighbour, all of them the same block; receives: from each neighbour
//   neighbor_alltoall   sends: to each neighbour; receives: from each neighbour
// A rank may be its own neighbour, and the same neighbour several times: then the first that goes to it meets
// its first from here, and so on. Parts of zero bytes are neither sent nor received.
struct Parts {
    std::vector<Part> sends;
    std::vector<Part> receives;

    bool operator==(const Parts&) const = default;
};

// Shapes, with P = ranks and B = bytes. What a rank contributes is its *input*: it stands in `in`, or, when
// in_place, where out is to hold the rank's own part of the result.
//   barrier               no data
//   broadcast             in: B at the root; out: B at every other rank (the root's data stays where it is)
//   gather                in: B; out: P*B at the root, block r from rank r. in_place: at the root only
//   scatter               in: P*B at the root; out: B. in_place: the root's block stays where it is, its out
//   is empty allgather             in: B; out: P*B, block r from rank r alltoall              in: P*B, block
//   d for rank d; out: P*B, block s from rank s reduce                in: B; out: B at the root. in_place: at
//   the root only allreduce             in: B; out: B reduce_scatter_block  in: P*B; out: B, block r of the
//   result at rank r. in_place: out has P*B, the result at its
//                         beginning
//   reduce_scatter        the same with parts
//   scan                  in: B; out: B, of ranks 0 to r at rank r
//   exscan                in: B; out: B, of ranks 0 to r-1 at rank r; none at rank 0 (but B where the input
//   is when
//                         in_place)
//   others                as their parts say
// alltoall, alltoallv and the neighbour collectives are never in_place: blocks would arrive where others
// still wait to be sent.
struct Problem {
    Collective collective = Collective::barrier;
    int ranks = 1;
    int root = 0;                 // 0 where the collective has none
    std::uint64_t bytes = 0;      // of one block; of the average block where all ranks know all parts; else 0
    bool in_place = false;        // the input stands in out
    Operator op = Operator::sum;  // reductions only
    Type type = Type::uint8;      // reductions only
    // Reductions only: the operator is combined in the order of the ranks, since it does not commute.
    bool ordered = false;
    std::uint64_t element = 0;  // reductions of Type::opaque only: bytes of one element
    // Where the collective has parts: one entry, of the rank that asks; or one for each rank.
    std::vector<Parts> parts = {};
    // Where the ranks stand; null when that is not known. Does not change what the result is.
    std::shared_ptr<const Placement> placement = nullptr;

    bool operator==(const Problem& other) const {
        return collective == other.collective && ranks == other.ranks && root == other.root &&
               bytes == other.bytes && in_place == other.in_place && op == other.op && type == other.type &&
               ordered == other.ordered && element == other.element && parts == other.parts &&
               same(placement.get(), other.placement.get());
    }
    const Parts& parts_of(int rank) const {
        return parts[parts.size() == 1 ? 0 : static_cast<std::size_t>(rank)];
    }
    // Bytes of one element of a reduction.
    std::uint64_t element_bytes() const { return type == Type::opaque ? element : size_in_bytes(type); }

  private:
    static bool same(const Placement* one, const Placement* other) {
        return one == other || (one != nullptr && other != nullptr && *one == *other);
    }
};

std::span<const Collective> all_collectives();
// Name as the text form and the tool write it: "broadcast".
const char* name(Collective collective);
// Name of the nonblocking MPI function: "MPI_Ibcast".
const char* mpi_name(Collective collective);
bool has_root(Collective collective);
bool is_reduction(Collective collective);
bool has_parts(Collective collective);
bool may_be_in_place(Collective collective);
// Whether a rank may be in_place where others are not: the root alone, or, in a scan, any of them. No rank
// knows it of the others.
bool in_place_by_itself(Collective collective);
// Accepts the collective's name and MPI's names in any of their spellings: broadcast, bcast, ibcast,
// MPI_Ibcast; and those of the other functions that it serves: ialltoallw.
std::optional<Collective> find_collective(std::string_view name);

// Where the last of them ends; 0: there are none.
std::uint64_t end_of(std::span<const Part> parts);

// Bytes of the caller's buffers that `rank` reads (in) and writes (out).
std::uint64_t in_bytes(const Problem& problem, int rank);
std::uint64_t out_bytes(const Problem& problem, int rank);

// What a rank contributes: bytes that stand in in from 0 on, or, when in_place, in a span of its out.
Span whole_input(const Problem& problem, int rank);
// The span of the rank's input from `offset` on: of in, or of out when the problem is in_place there. The
// bytes must be inside the input.
Span input(const Problem& problem, int rank, std::uint64_t offset, std::uint64_t length);

}  // namespace lapwing
