// Asks a card for the behaviour that the engine relies on: what Mellanox's own programs for cross-channel
// work expect, and what no public text defines. Uses the engine's own code for posting, over any Device: a
// card, or the double of one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engines/mlx5/device.hpp"

namespace lapwing::mlx5 {

// How long the conformance program waits.
struct ConformanceLimits {
    std::chrono::milliseconds max_wait{2000};  // for an event that must come
    std::chrono::milliseconds min_wait{100};   // for an event that must not come
};

enum class Outcome : std::uint8_t {
    passed,
    failed,
    not_asked,  // the card lacks a feature that the question needs
};
const char* print(Outcome outcome);

struct Answer {
    const char* name = nullptr;  // "wait_before"
    const char* asks = nullptr;  // the question, as a sentence
    Outcome outcome = Outcome::not_asked;
    // failed: what came instead; not_asked: the reason; passed: empty.
    std::string found;
};

// Asks every question, or `only` the one of that name. Takes a second or two on a card. Does not throw.
std::vector<Answer> check_conformance(Device& device, const ConformanceLimits& limits = {},
                                      std::string_view only = {});

}  // namespace lapwing::mlx5
