#include "program/mpi/data.hpp"

#include <cstring>
#include <vector>

namespace lapwing::bench {
namespace {

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

}  // namespace

void fill_block(unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from, int to) {
    std::uint64_t word = first_word(iteration, from, to);
    std::uint64_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word, word += stride) {
        std::memcpy(block + at, &word, sizeof word);
    }
    std::memcpy(block + at, &word, bytes - at);
}

std::uint64_t first_wrong(const unsigned char* block, std::uint64_t bytes, std::uint64_t iteration, int from,
                          int to) {
    std::uint64_t word = first_word(iteration, from, to);
    std::uint64_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word, word += stride) {
        if (std::memcmp(block + at, &word, sizeof word) != 0) {
            return at + first_different(block + at, &word, sizeof word);
        }
    }
    return at + first_different(block + at, &word, bytes - at);
}

void fill_vector(unsigned char* vector, std::uint64_t bytes, std::uint64_t iteration, int from) {
    std::uint64_t word = first_word(iteration, from, to_all);
    for (std::uint64_t at = 0; at < bytes; at += sizeof(double), word += stride) {
        const auto value = static_cast<double>(word >> dropped_bits);
        std::memcpy(vector + at, &value, sizeof value);
    }
}

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

}  // namespace lapwing::bench
