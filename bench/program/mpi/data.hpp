// The data that ranks exchange: it encodes sender, receiver and iteration, so that no wrong data passes the
// check.
#pragma once

#include <cstdint>

namespace lapwing::bench {

constexpr int to_all = -1;

// The bytes of a block depend on its sender, its receiver (or to_all), the iteration, and their offset.
void fill_block(unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from, int to);
// The first byte that is not as fill_block() writes it; `bytes` when all are.
std::uint64_t first_wrong(const unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from,
                          int to);

// Vectors of doubles that are integers, so that the sum over the ranks is exact in any order.
void fill_vector(unsigned char* vector, std::uint64_t bytes, std::uint64_t iteration, int from);
// The first byte that is not as in the sum of all ranks' vectors.
std::uint64_t first_wrong_of_sum(const unsigned char* sum, std::uint64_t bytes, std::uint64_t iteration,
                                 int ranks);

}  // namespace lapwing::bench
