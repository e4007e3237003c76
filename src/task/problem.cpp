#include "task/problem.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "base/error.hpp"

namespace lapwing {
namespace {

struct Row {
    const char* name;
    const char* mpi_name;
    bool rooted;
};
constexpr Row rows[] = {
#define LAPWING_COLLECTIVE(name, mpi_name, rooted) {#name, mpi_name, rooted},
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

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

}  // namespace

const char* name(Collective collective) {
    return row(collective).name;
}
const char* mpi_name(Collective collective) {
    return row(collective).mpi_name;
}
bool has_root(Collective collective) {
    return row(collective).rooted;
}
bool is_reduction(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce;
}

std::optional<Collective> find_collective(std::string_view wanted) {
    const std::string text = lower_case(wanted);
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        const std::string nonblocking = lower_case(rows[i].mpi_name);  // mpi_ibcast
        const std::string blocking = "mpi_" + nonblocking.substr(5);   // mpi_bcast
        const std::string own = rows[i].name;
        if (text == own || text == "i" + own || text == nonblocking || text == blocking ||
            text == nonblocking.substr(4) || text == blocking.substr(4)) {
            return static_cast<Collective>(i);
        }
    }
    return std::nullopt;
}

std::uint64_t in_bytes(const Problem& p, int rank) {
    switch (p.collective) {
        case Collective::barrier:
            return 0;
        case Collective::broadcast:
            return rank == p.root ? p.bytes : 0;
        case Collective::gather:
            return p.in_place && rank == p.root ? 0 : p.bytes;
        case Collective::alltoall:
            return p.bytes * static_cast<std::uint64_t>(p.ranks);
        case Collective::reduce:
        case Collective::allreduce:
            return p.bytes;
    }
    return 0;
}

std::uint64_t out_bytes(const Problem& p, int rank) {
    switch (p.collective) {
        case Collective::barrier:
            return 0;
        case Collective::broadcast:
            return rank == p.root ? 0 : p.bytes;
        case Collective::gather:
            return rank == p.root ? p.bytes * static_cast<std::uint64_t>(p.ranks) : 0;
        case Collective::alltoall:
            return p.bytes * static_cast<std::uint64_t>(p.ranks);
        case Collective::reduce:
            return rank == p.root ? p.bytes : 0;
        case Collective::allreduce:
            return p.bytes;
    }
    return 0;
}

void validate(const Problem& p) {
    const auto refuse = [](const std::string& why) { throw Error(ErrorCode::invalid_argument, why); };
    if (p.ranks < 1) refuse("a group has at least 1 rank, not " + std::to_string(p.ranks));
    if (p.root < 0 || p.root >= p.ranks) {
        refuse("root " + std::to_string(p.root) + " is none of the " + std::to_string(p.ranks) + " ranks");
    }
    if (p.root != 0 && !has_root(p.collective)) refuse(std::string(name(p.collective)) + " has no root");
    if (p.bytes != 0 && p.collective == Collective::barrier) refuse("barrier carries no bytes");
    if (p.in_place && p.collective != Collective::gather) {
        refuse(std::string("in_place changes the list of gather only, not of ") + name(p.collective));
    }
    if (p.bytes > most_bytes / static_cast<std::uint64_t>(p.ranks)) {
        refuse(std::to_string(p.bytes) + " bytes for each of " + std::to_string(p.ranks) +
               " ranks are too many");
    }
    if (is_reduction(p.collective)) {
        if (p.bytes % size_in_bytes(p.type) != 0) {
            refuse(std::to_string(p.bytes) + " bytes are not whole elements of " + name(p.type));
        }
        if (integers_only(p.op) && !is_integer(p.type)) {
            refuse(std::string(name(p.op)) + " is for integers, not for " + name(p.type));
        }
    }
}

}  // namespace lapwing
