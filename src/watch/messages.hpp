// What ranks and `lapwing status` send each other beside snapshots.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "watch/diagnosis.hpp"

namespace lapwing::watch {

// Of the job, by one of its ranks.
struct JobDescription {
    std::string job;
    std::string version;  // of Lapwing
    std::string program;
    int ranks = 0;
    std::vector<std::string> hosts;  // in the order of their first ranks
    std::uint64_t age = 0;           // seconds since MPI_Init
    std::string trouble;             // what the watch does without
};

std::vector<std::byte> encode(const JobDescription& description);
// Throws Error (link).
JobDescription decode_description(std::span<const std::byte> bytes);

// What one rank has answered, for `lapwing status`.
struct RankReply {
    int rank = 0;
    std::vector<std::byte> snapshot;  // encoded; empty: the rank is silent
    std::string silence;
};

std::vector<std::byte> encode(const RankReply& reply);
// Throws Error (link).
RankReply decode_reply(std::span<const std::byte> bytes);

// Also decodes the snapshot; one that is invalid is a silence.
Answer answer_of(const RankReply& reply);

std::vector<std::byte> encode_numbers(std::span<const std::int64_t> numbers);
// Throws Error (link).
std::vector<std::int64_t> decode_numbers(std::span<const std::byte> bytes);

}  // namespace lapwing::watch
