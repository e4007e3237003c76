#include "program/exchange.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <vector>

#include "base/error.hpp"

namespace lapwing::bench {
namespace {

constexpr int to_all = -1;

// Bytes of the vector that MPI_Iallreduce sums: whole elements, at least `bytes`.
std::uint64_t vector_bytes(std::uint64_t bytes) {
    return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

std::uint64_t uneven(std::uint64_t bytes, int from, int to) {
    return (from + to) % 2 == 0 ? bytes - bytes / 2 : bytes + bytes / 2;
}

// Bytes of the block that one rank has for another, or for itself; 0 when it has none. Uneven blocks are
// half a block shorter or longer than `bytes`, in turn. For collectives whose result is made of the blocks of
// several ranks, or goes to several: gathers, scatter, all-to-alls.
std::uint64_t block_bytes(Collective collective, std::uint64_t bytes, int from, int to, int root) {
    switch (collective) {
        case Collective::gather:
            return to == root ? bytes : 0;
        case Collective::gatherv:
            return to == root ? uneven(bytes, from, to) : 0;
        case Collective::scatter:
            return from == root ? bytes : 0;
        case Collective::allgather:
        case Collective::alltoall:
            return bytes;
        case Collective::alltoallv:
            return uneven(bytes, from, to);
        default:
            return 0;
    }
}

std::uint64_t first_word(std::uint64_t iteration, int from, int to) {
    std::uint64_t x = iteration * 0x9e3779b97f4a7c15U +
                      static_cast<std::uint64_t>(from) * 0xbf58476d1ce4e5b9U +
                      static_cast<std::uint64_t>(to + 1) * 0x94d049bb133111ebU;
    x ^= x >> 31U;
    return x * 0xd6e8feb86659fd93U;
}

constexpr std::uint64_t stride = 0x2545f4914f6cdd1dU;

// Of an element's word so many bits are its value: two million ranks' values have a sum of 53 bits.
constexpr unsigned dropped_bits = 32;

std::uint64_t first_different(const unsigned char* bytes, const void* expected, std::uint64_t count) {
    std::uint64_t at = 0;
    while (at < count && bytes[at] == static_cast<const unsigned char*>(expected)[at]) ++at;
    return at;
}

// The bytes of a block depend on its sender, its receiver (or to_all), the iteration, and their offset.
void fill_block(unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from, int to) {
    std::uint64_t word = first_word(iteration, from, to);
    std::uint64_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word, word += stride)
        std::memcpy(block + at, &word, sizeof word);
    std::memcpy(block + at, &word, bytes - at);
}

// The first byte that is not as fill_block() writes it; `bytes` when all are.
std::uint64_t first_wrong(const unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from,
                          int to) {
    std::uint64_t word = first_word(iteration, from, to);
    std::uint64_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word, word += stride)
        if (std::memcmp(block + at, &word, sizeof word) != 0)
            return at + first_different(block + at, &word, sizeof word);
    return at + first_different(block + at, &word, bytes - at);
}

// Vectors of doubles that are integers, so that the sum over the ranks is exact in any order.
void fill_vector(unsigned char* vector, std::uint64_t bytes, std::uint64_t iteration, int from) {
    std::uint64_t word = first_word(iteration, from, to_all);
    for (std::uint64_t at = 0; at < bytes; at += sizeof(double), word += stride) {
        const auto value = static_cast<double>(word >> dropped_bits);
        std::memcpy(vector + at, &value, sizeof value);
    }
}

// The first byte that is not as in the sum of all ranks' vectors.
std::uint64_t first_wrong_of_sum(const unsigned char* sum, std::uint64_t bytes, std::uint64_t iteration,
                                 int ranks) {
    std::vector<std::uint64_t> words;
    for (int from = 0; from < ranks; ++from) words.push_back(first_word(iteration, from, to_all));
    for (std::uint64_t at = 0; at < bytes; at += sizeof(double)) {
        std::uint64_t whole = 0;
        for (std::uint64_t& word : words) {
            whole += word >> dropped_bits;
            word += stride;
        }
        const auto value = static_cast<double>(whole);
        const std::uint64_t different = first_different(sum + at, &value, sizeof value);
        if (different != sizeof value) return at + different;
    }
    return bytes;
}

}  // namespace

void Exchange::Side::add(std::uint64_t length, int from, int to) {
    blocks.push_back({buffer.size(), length, from, to});
    buffer.resize(buffer.size() + length);
}

void Exchange::Side::tell_mpi() {
    if (buffer.size() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
        throw Error(ErrorCode::invalid_argument,
                    "the uneven blocks together have 2Gi bytes or more, which exceeds MPI's "
                    "displacements; use smaller blocks");
    }
    for (const Block& block : blocks) {
        counts.push_back(static_cast<int>(block.length));
        displacements.push_back(static_cast<int>(block.offset));
    }
}

Exchange::Exchange(Collective collective, std::uint64_t bytes, int rank, int ranks, std::uint64_t& calls,
                   int root)
    : collective_(collective), bytes_(bytes), rank_(rank), ranks_(ranks), calls_(calls), root_(root) {
    if (collective == Collective::broadcast) {
        in_.add(bytes, root, to_all);
    } else if (collective == Collective::allreduce) {
        out_.buffer.resize(vector_bytes(bytes));
        in_.buffer.resize(vector_bytes(bytes));
    } else if (collective == Collective::allgather) {
        out_.add(bytes, rank, to_all);
        for (int peer = 0; peer < ranks; ++peer) in_.add(bytes, peer, to_all);
    } else if (collective != Collective::barrier) {
        for (int peer = 0; peer < ranks; ++peer) {
            out_.add(block_bytes(collective, bytes, rank, peer, root), rank, peer);
            in_.add(block_bytes(collective, bytes, peer, rank, root), peer, rank);
        }
    }
    if (collective == Collective::gatherv || collective == Collective::alltoallv) {
        out_.tell_mpi();
        in_.tell_mpi();
    }
}

void Exchange::fill(std::uint64_t iteration) {
    iteration_ = iteration;
    if (collective_ == Collective::allreduce)
        fill_vector(out_.buffer.data(), out_.buffer.size(), iteration, rank_);
    // MPI_Bcast has one buffer.
    Side& side = collective_ == Collective::broadcast ? in_ : out_;
    for (const Block& block : side.blocks) {
        if (block.length == 0 || block.from != rank_) continue;
        fill_block(side.buffer.data() + block.offset, block.length, iteration, rank_, block.to);
    }
}

#define ACT(collective, ...)     \
    case Collective::collective: \
        return act(__VA_ARGS__)

// Gives `act` the nonblocking function, the blocking one, and what both take.
template <typename Act>
void Exchange::with_arguments(MPI_Comm where, Act act) {
    const int count = static_cast<int>(bytes_);
    ++calls_;
    const void* out = out_.buffer.data();
    void* in = in_.buffer.data();
    switch (collective_) {
        ACT(barrier, MPI_Ibarrier, MPI_Barrier, where);
        ACT(broadcast, MPI_Ibcast, MPI_Bcast, in, count, MPI_BYTE, root_, where);
        ACT(gather, MPI_Igather, MPI_Gather, out, count, MPI_BYTE, in, count, MPI_BYTE, root_, where);
        ACT(gatherv, MPI_Igatherv, MPI_Gatherv, out, out_.counts[static_cast<std::size_t>(root_)], MPI_BYTE,
            in, in_.counts.data(), in_.displacements.data(), MPI_BYTE, root_, where);
        ACT(scatter, MPI_Iscatter, MPI_Scatter, out, count, MPI_BYTE, in, count, MPI_BYTE, root_, where);
        ACT(allgather, MPI_Iallgather, MPI_Allgather, out, count, MPI_BYTE, in, count, MPI_BYTE, where);
        ACT(alltoall, MPI_Ialltoall, MPI_Alltoall, out, count, MPI_BYTE, in, count, MPI_BYTE, where);
        ACT(alltoallv, MPI_Ialltoallv, MPI_Alltoallv, out, out_.counts.data(), out_.displacements.data(),
            MPI_BYTE, in, in_.counts.data(), in_.displacements.data(), MPI_BYTE, where);
        ACT(allreduce, MPI_Iallreduce, MPI_Allreduce, out, in,
            static_cast<int>(out_.buffer.size() / sizeof(double)), MPI_DOUBLE, MPI_SUM, where);
        default:
            throw Error(ErrorCode::unsupported, fmt::format("{} is not measured", mpi_name(collective_)));
    }
}

void Exchange::start(MPI_Comm communicator, MPI_Request& request) {
    with_arguments(communicator, [&request](auto nonblocking, auto, auto... arguments) {
        nonblocking(arguments..., &request);
    });
}

void Exchange::call(MPI_Comm communicator) {
    with_arguments(communicator, [](auto, auto blocking, auto... arguments) { blocking(arguments...); });
}

void Exchange::refuse(const std::string& engine, std::uint64_t byte, const std::string& of) const {
    throw Error(
        ErrorCode::internal,
        fmt::format("{} of {} bytes by engine {}: wrong data on rank {} in exchange {}: byte {} of {}",
                    mpi_name(collective_), bytes_, engine, rank_, iteration_, byte, of));
}

void Exchange::check(const std::string& engine) const {
    if (collective_ == Collective::allreduce) {
        const std::uint64_t length = in_.buffer.size();
        const std::uint64_t wrong = first_wrong_of_sum(in_.buffer.data(), length, iteration_, ranks_);
        if (wrong != length) refuse(engine, wrong, "the sum");
    }
    for (const Block& block : in_.blocks) {
        if (block.length == 0) continue;
        const std::uint64_t wrong =
            first_wrong(in_.buffer.data() + block.offset, block.length, iteration_, block.from, block.to);
        if (wrong != block.length) refuse(engine, wrong, fmt::format("what rank {} sent", block.from));
    }
}

void Exchange::corrupt() {
    if (!in_.buffer.empty()) in_.buffer.back() ^= 1U;
}

}  // namespace lapwing::bench
