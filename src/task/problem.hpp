// A problem: one collective with its sizes, as data. All ranks of a group describe the same problem, but for
// the lengths and places of blocks (Parts), of which a rank may know its own only.
#pragma once

#include <cstddef>
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

// One block that a rank sends to `peer`, or receives from `peer`.
struct Part {
    int peer = 0;
    std::uint64_t offset = 0;  // bytes, from the start of the rank's input or of its out
    std::uint64_t bytes = 0;

    bool operator==(const Part&) const = default;
};

// clang-format off
// The blocks of one rank, for collectives whose blocks have different lengths or lie apart.
//
//   collective          sends                                    receives
//   ------------------  ---------------------------------------  ------------------------------------------
//   gatherv             its block, to the root (the root in      the root: one block from every rank,
//                       place: none)                             in rank order
//   scatterv            the root: one block to every rank, in    its block, from the root (the root in
//                       rank order                               place: none)
//   allgatherv          its block, to itself (in place: none)    one block from every rank, in rank order
//   alltoallv           one block to every rank, in rank order   one block from every rank, in rank order
//   reduce_scatter      one block for every rank, in rank        its block, from itself
//                       order and without gaps
//   neighbor_allgather  the same block to each neighbour         one block from each neighbour
//   neighbor_alltoall   one block to each neighbour              one block from each neighbour
//
// A rank may be its own neighbour, and may have the same neighbour several times. The first block that rank a
// sends to rank b is then the first block that b receives from a, and so on. Blocks of zero bytes are not
// transferred.
// clang-format on
struct Parts {
    std::vector<Part> sends;
    std::vector<Part> receives;

    bool operator==(const Parts&) const = default;
};

// clang-format off
// The memory of each collective, with P = ranks and B = bytes. The *input* is the data that a rank
// contributes. It lies in `in`. With in_place it lies in `out` instead, where the rank's own part of the
// result belongs.
//
//   collective            input                out                     notes
//   --------------------  -------------------  ----------------------  -------------------------------------
//   barrier               -                    -
//   broadcast             B at the root        B at all other ranks    the root's data stays in its input
//   gather                B                    P*B at the root         block r comes from rank r; in_place:
//                                                                      at the root only
//   scatter               P*B at the root      B                       in_place: the root's block stays in
//                                                                      its input, and its out is empty
//   allgather             B                    P*B                     block r comes from rank r
//   alltoall              P*B                  P*B                     block d of the input goes to rank d;
//                                                                      block s of out comes from rank s
//   reduce                B                    B at the root           in_place: at the root only
//   allreduce             B                    B
//   reduce_scatter_block  P*B                  B                       rank r gets block r of the result;
//                                                                      in_place: out has P*B, and the result
//                                                                      is at its beginning
//   reduce_scatter        see Parts            see Parts               as reduce_scatter_block
//   scan                  B                    B                       rank r gets the result of ranks 0 to r
//   exscan                B                    B, none at rank 0       rank r gets the result of ranks 0 to
//                                                                      r-1; in_place: rank 0 has B, too
//   all others            see Parts            see Parts
//
// alltoall, alltoallv and the neighbour collectives are never in_place: a block could arrive where another
// block still waits to be sent.
// clang-format on
struct Problem {
    Collective collective = Collective::barrier;
    int ranks = 1;
    int root = 0;  // 0 if the collective has no root
    // Length of one block. With parts: the average over the blocks of all ranks if each rank knows them all,
    // else 0.
    std::uint64_t bytes = 0;
    bool in_place = false;        // the input lies in out
    Operator op = Operator::sum;  // reductions only
    Type type = Type::uint8;      // reductions only
    // Reductions only: contributions are combined in rank order, because the operator does not commute.
    bool ordered = false;
    std::uint64_t element = 0;  // reductions of Type::opaque only: bytes of one element
    // Collectives with parts only: the parts of the calling rank alone, or of every rank.
    std::vector<Parts> parts = {};
    // On which hosts the ranks run; null if unknown. Does not affect the result.
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
// Returns the name in the text form of lists (task/text.hpp) and in the tool: "broadcast".
const char* name(Collective collective);
// Returns the name of the nonblocking MPI function: "MPI_Ibcast".
const char* mpi_name(Collective collective);

namespace traits {
enum : unsigned { ROOTED = 1, REDUCES = 2, IN_PLACE = 4, PARTS = 8, SHARED_PARTS = 16, NEIGHBORS = 32 };
inline constexpr unsigned of_collectives[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) traits,
#include "task/collectives.def"
};
constexpr bool has(Collective collective, unsigned trait) {
    return (of_collectives[static_cast<std::size_t>(collective)] & trait) != 0;
}
}  // namespace traits

constexpr bool has_root(Collective collective) {
    return traits::has(collective, traits::ROOTED);
}
constexpr bool is_reduction(Collective collective) {
    return traits::has(collective, traits::REDUCES);
}
constexpr bool has_parts(Collective collective) {
    return traits::has(collective, traits::PARTS);
}
constexpr bool may_be_in_place(Collective collective) {
    return traits::has(collective, traits::IN_PLACE);
}
constexpr bool has_neighbors(Collective collective) {
    return traits::has(collective, traits::NEIGHBORS);
}
// Returns whether the parts of one rank give the lengths of the blocks of all ranks.
constexpr bool all_ranks_know_all_parts(Collective collective) {
    return traits::has(collective, traits::SHARED_PARTS);
}
// Returns whether in_place may differ between the ranks: only the root chooses it in rooted collectives, and
// each rank chooses it in scan and exscan. A rank does not know what other ranks chose.
constexpr bool in_place_by_itself(Collective collective) {
    return may_be_in_place(collective) &&
           (has_root(collective) || collective == Collective::scan || collective == Collective::exscan);
}
// Finds a collective by its own name or by that of an MPI function that is run as this collective: broadcast,
// bcast, ibcast, MPI_Ibcast, ialltoallw. Ignores case.
std::optional<Collective> find_collective(std::string_view name);

// Returns the largest offset at which a part ends; 0 if all parts are empty.
std::uint64_t end_of(std::span<const Part> parts);

// Return the bytes of the caller's buffers that `rank` reads (in) and writes (out).
std::uint64_t in_bytes(const Problem& problem, int rank);
std::uint64_t out_bytes(const Problem& problem, int rank);

// Returns the input of `rank`: a span of in that starts at 0, or a span of out with in_place.
Span whole_input(const Problem& problem, int rank);
// Returns `length` bytes of the input of `rank`, from `offset` on. They must lie inside the input.
Span input(const Problem& problem, int rank, std::uint64_t offset, std::uint64_t length);

}  // namespace lapwing
