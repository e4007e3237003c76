#include "task/problem.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

namespace lapwing {
namespace {

struct Row {
    const char* name;
    const char* mpi_name;
    std::string_view also;
};
constexpr Row rows[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) {#name, mpi_name, also},
#include "task/collectives.def"
};

const Row& row(Collective collective) {
    return rows[static_cast<std::size_t>(collective)];
}

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return result;
}

// Returns whether `text` is a spelling of `mpi_name`: of "MPI_Ibcast", these are mpi_ibcast, mpi_bcast,
// ibcast and bcast.
bool means(std::string_view text, std::string_view mpi_name) {
    const std::string nonblocking = lower_case(mpi_name);
    const std::string blocking = "mpi_" + nonblocking.substr(5);
    return text == nonblocking || text == blocking || text == nonblocking.substr(4) ||
           text == blocking.substr(4);
}

}  // namespace

std::span<const Collective> all_collectives() {
    static constexpr Collective all[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, also, traits) Collective::name,
#include "task/collectives.def"
    };
    return all;
}

const char* name(Collective collective) {
    return row(collective).name;
}
const char* mpi_name(Collective collective) {
    return row(collective).mpi_name;
}
std::optional<Collective> find_collective(std::string_view wanted) {
    const std::string text = lower_case(wanted);
    for (const Collective collective : all_collectives()) {
        const Row& candidate = row(collective);
        if (text == candidate.name || text == std::string("i") + candidate.name ||
            means(text, candidate.mpi_name)) {
            return collective;
        }
        std::string_view also = candidate.also;
        while (!also.empty()) {
            const std::size_t end = std::min(also.find(' '), also.size());
            if (means(text, also.substr(0, end))) return collective;
            also.remove_prefix(std::min(end + 1, also.size()));
        }
    }
    return std::nullopt;
}

std::uint64_t end_of(std::span<const Part> parts) {
    std::uint64_t end = 0;
    for (const Part& part : parts) {
        if (part.bytes > 0) end = std::max(end, part.offset + part.bytes);
    }
    return end;
}

std::uint64_t in_bytes(const Problem& p, int rank) {
    const Span all = whole_input(p, rank);
    return all.space == Space::in ? all.length : 0;
}

std::uint64_t out_bytes(const Problem& p, int rank) {
    const std::uint64_t ranks = static_cast<std::uint64_t>(p.ranks);
    const bool root = rank == p.root;
    switch (p.collective) {
        case Collective::barrier:
            return 0;
        case Collective::broadcast:
            return root ? 0 : p.bytes;
        case Collective::gather:
            return root ? p.bytes * ranks : 0;
        case Collective::scatter:
            return root && p.in_place ? 0 : p.bytes;
        case Collective::allgather:
        case Collective::alltoall:
            return p.bytes * ranks;
        case Collective::reduce:
            return root ? p.bytes : 0;
        case Collective::allreduce:
        case Collective::scan:
            return p.bytes;
        case Collective::reduce_scatter_block:
            return p.in_place ? p.bytes * ranks : p.bytes;
        case Collective::exscan:
            return rank == 0 && !p.in_place ? 0 : p.bytes;
        case Collective::reduce_scatter:
            if (p.in_place) return end_of(p.parts_of(rank).sends);
            break;
        default:
            break;
    }
    return end_of(p.parts_of(rank).receives);
}

Span whole_input(const Problem& p, int rank) {
    const std::uint64_t ranks = static_cast<std::uint64_t>(p.ranks);
    const bool root = rank == p.root;
    const Space own = p.in_place ? Space::out : Space::in;
    switch (p.collective) {
        case Collective::barrier:
            return {Space::in, 0, 0};
        case Collective::broadcast:
            return {Space::in, 0, root ? p.bytes : 0};
        case Collective::gather:
            if (root && p.in_place) return {Space::out, p.bytes * static_cast<std::uint64_t>(rank), p.bytes};
            return {Space::in, 0, p.bytes};
        case Collective::scatter:
            return {Space::in, 0, root ? p.bytes * ranks : 0};
        case Collective::allgather:
            return {own, p.in_place ? p.bytes * static_cast<std::uint64_t>(rank) : 0, p.bytes};
        case Collective::alltoall:
            return {Space::in, 0, p.bytes * ranks};
        case Collective::reduce:
            return {root ? own : Space::in, 0, p.bytes};
        case Collective::allreduce:
        case Collective::scan:
        case Collective::exscan:
            return {own, 0, p.bytes};
        case Collective::reduce_scatter_block:
            return {own, 0, p.bytes * ranks};
        case Collective::reduce_scatter:
            return {own, 0, end_of(p.parts_of(rank).sends)};
        case Collective::gatherv:
        case Collective::allgatherv:
            if (p.in_place && (root || p.collective == Collective::allgatherv)) {
                const Part& own_part = p.parts_of(rank).receives[static_cast<std::size_t>(rank)];
                return {Space::out, own_part.offset, own_part.bytes};
            }
            break;
        case Collective::scatterv:
        case Collective::alltoallv:
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            break;
    }
    return {Space::in, 0, end_of(p.parts_of(rank).sends)};
}

Span input(const Problem& problem, int rank, std::uint64_t offset, std::uint64_t length) {
    return whole_input(problem, rank).part(offset, length);
}

}  // namespace lapwing
