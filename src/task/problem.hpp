// What is to be done: a collective with its shape, as data that is equal on every rank of the group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "task/task.hpp"

namespace lapwing {

enum class Collective : std::uint8_t {
#define LAPWING_COLLECTIVE(name, mpi_name, rooted) name,
#include "task/collectives.def"
};

// Shapes, with P = ranks and B = bytes:
//   barrier    no data
//   broadcast  in: B at the root; out: B at every other rank (the root's data stays where it is)
//   gather     in: B (none at the root when in_place); out: P*B at the root, block r from rank r
//   alltoall   in: P*B, block d for rank d; out: P*B, block s from rank s
//   reduce     in: B; out: B at the root
//   allreduce  in: B; out: B
struct Problem {
    Collective collective = Collective::barrier;
    int ranks = 1;
    int root = 0;                 // 0 where the collective has none
    std::uint64_t bytes = 0;      // bytes of one block
    bool in_place = false;        // gather: the root's own block already stands in its out
    Operator op = Operator::sum;  // reductions only
    Type type = Type::uint8;      // reductions only

    bool operator==(const Problem&) const = default;
};

// Name as the text form and the tool write it: "broadcast".
const char* name(Collective collective);
// Name of the nonblocking MPI function: "MPI_Ibcast".
const char* mpi_name(Collective collective);
bool has_root(Collective collective);
bool is_reduction(Collective collective);
// Accepts the collective's name and MPI's names in any of their spellings: broadcast, bcast, ibcast,
// MPI_Ibcast.
std::optional<Collective> find_collective(std::string_view name);

// Bytes of the caller's buffers that `rank` reads (in) and writes (out).
std::uint64_t in_bytes(const Problem& problem, int rank);
std::uint64_t out_bytes(const Problem& problem, int rank);

// Throws Error (invalid_argument) with the reason when the problem makes no sense: no ranks, a root that
// is none of them, sizes beyond 2^62 bytes, a reduction whose bytes are not whole elements.
void validate(const Problem& problem);

}  // namespace lapwing
