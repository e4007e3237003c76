#include "exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::overlap {
namespace {

// The bytes of a block differ by who sends it, to whom, in which iteration, and by their place in it.
std::uint64_t first_word(std::uint64_t iteration, int from, int to) {
    std::uint64_t x = iteration * 0x9e3779b97f4a7c15U +
                      static_cast<std::uint64_t>(from) * 0xbf58476d1ce4e5b9U +
                      static_cast<std::uint64_t>(to + 1) * 0x94d049bb133111ebU;
    x ^= x >> 31U;
    return x * 0xd6e8feb86659fd93U;
}

constexpr std::uint64_t stride = 0x2545f4914f6cdd1dU;

void fill_block(unsigned char* block, std::uint64_t bytes, std::uint64_t word) {
    std::uint64_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word, word += stride) {
        std::memcpy(block + at, &word, sizeof word);
    }
    std::memcpy(block + at, &word, bytes - at);
}

// The first byte that is wrong; `bytes` when none is.
std::uint64_t first_wrong(const unsigned char* block, std::uint64_t bytes, std::uint64_t word) {
    std::uint64_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word, word += stride) {
        if (std::memcmp(block + at, &word, sizeof word) != 0) break;
    }
    unsigned char expected[sizeof word];
    std::memcpy(expected, &word, sizeof word);
    for (std::uint64_t i = 0; at < bytes && i < sizeof word; ++at, ++i) {
        if (block[at] != expected[i]) return at;
    }
    return bytes;
}

constexpr int to_all = -1;

}  // namespace

void Caller::wait(MPI_Request& request) const {
    if (direct) {
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

bool Caller::test(MPI_Request& request) const {
    int done = 0;
    if (direct) {
        PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return done != 0;
}

std::uint64_t Traffic::bytes() const {
    std::uint64_t sum = 0;
    for (const Send& send : sends) sum += send.bytes;
    for (const Receive& receive : receives) sum += receive.bytes;
    return sum;
}

Traffic traffic_of(Collective collective, std::uint64_t bytes, int rank, int ranks, int root) {
    Traffic traffic;
    const auto at = [&](int distance) { return ((rank + distance) % ranks + ranks) % ranks; };
    switch (collective) {
        case Collective::barrier: {
            int step = 0;
            for (int distance = 1; distance < ranks; distance *= 2, ++step) {
                traffic.receives.push_back({at(-distance), 1});
                traffic.sends.push_back({at(distance), 1, step});
            }
            break;
        }
        case Collective::broadcast: {
            // Counted from the root: a rank's parent lacks its lowest bit, its children have one more below.
            const int own = at(-root);
            int bit = 1;
            while (bit < ranks && (own & bit) == 0) bit *= 2;
            if (own != 0) traffic.receives.push_back({(own - bit + root) % ranks, bytes});
            for (bit /= 2; bit > 0; bit /= 2) {
                if (own + bit < ranks) {
                    traffic.sends.push_back({(own + bit + root) % ranks, bytes, own == 0 ? 0 : 1});
                }
            }
            break;
        }
        case Collective::gather:
            if (rank != root) traffic.sends.push_back({root, bytes, 0});
            for (int distance = 1; rank == root && distance < ranks; ++distance) {
                traffic.receives.push_back({at(distance), bytes});
            }
            break;
        case Collective::alltoall:
            for (int distance = 1; distance < ranks; ++distance) {
                traffic.receives.push_back({at(-distance), bytes});
                traffic.sends.push_back({at(distance), bytes, 0});
            }
            break;
    }
    return traffic;
}

Exchange::Exchange(Collective collective, std::uint64_t bytes, int rank, int ranks, int root)
    : collective_(collective), bytes_(bytes), rank_(rank), ranks_(ranks), root_(root) {
    const std::uint64_t all = bytes * static_cast<std::uint64_t>(ranks);
    switch (collective) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            in_.resize(bytes);
            break;
        case Collective::gather:
            out_.resize(bytes);
            if (rank == root) in_.resize(all);
            break;
        case Collective::alltoall:
            out_.resize(all);
            in_.resize(all);
            break;
    }
}

void Exchange::fill(std::uint64_t iteration) {
    iteration_ = iteration;
    switch (collective_) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            if (rank_ == root_) fill_block(in_.data(), bytes_, first_word(iteration, root_, to_all));
            break;
        case Collective::gather:
            fill_block(out_.data(), bytes_, first_word(iteration, rank_, root_));
            break;
        case Collective::alltoall:
            for (int peer = 0; peer < ranks_; ++peer) {
                fill_block(out_.data() + static_cast<std::uint64_t>(peer) * bytes_, bytes_,
                           first_word(iteration, rank_, peer));
            }
            break;
    }
}

void Exchange::start(const Caller& caller, MPI_Request& request) {
    const int count = static_cast<int>(bytes_);
    const MPI_Comm where = caller.communicator;
    switch (collective_) {
        case Collective::barrier:
            (caller.direct ? PMPI_Ibarrier : MPI_Ibarrier)(where, &request);
            break;
        case Collective::broadcast:
            (caller.direct ? PMPI_Ibcast : MPI_Ibcast)(in_.data(), count, MPI_BYTE, root_, where, &request);
            break;
        case Collective::gather:
            (caller.direct ? PMPI_Igather : MPI_Igather)(out_.data(), count, MPI_BYTE, in_.data(), count,
                                                         MPI_BYTE, root_, where, &request);
            break;
        case Collective::alltoall:
            (caller.direct ? PMPI_Ialltoall : MPI_Ialltoall)(out_.data(), count, MPI_BYTE, in_.data(), count,
                                                             MPI_BYTE, where, &request);
            break;
    }
}

void Exchange::check_block(const Caller& caller, const unsigned char* block, int from, int to) const {
    const std::uint64_t wrong = first_wrong(block, bytes_, first_word(iteration_, from, to));
    if (wrong == bytes_) return;
    throw Error(
        ErrorCode::internal,
        fmt::format("{} of {} bytes by engine {}: wrong data on rank {} in exchange {}: byte {} of what rank "
                    "{} sent",
                    name(collective_), bytes_, caller.engine, rank_, iteration_, wrong, from));
}

void Exchange::check(const Caller& caller) const {
    switch (collective_) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            check_block(caller, in_.data(), root_, to_all);
            break;
        case Collective::gather:
        case Collective::alltoall:
            for (int peer = 0; peer < ranks_ && !in_.empty(); ++peer) {
                check_block(caller, in_.data() + static_cast<std::uint64_t>(peer) * bytes_, peer, rank_);
            }
            break;
    }
}

void Exchange::corrupt() {
    if (!in_.empty()) in_.back() ^= 1U;
}

}  // namespace lapwing::overlap
