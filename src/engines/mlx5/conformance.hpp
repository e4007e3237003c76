// What the engine relies on, asked of a card: what Mellanox's own programs for cross-channel work expect, and
// what no public text says. By the engine's own code for posting, over any Device: a card, or the double of
// one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engines/mlx5/conformance_limits.hpp"
#include "engines/mlx5/device.hpp"

namespace lapwing::mlx5 {

enum class Outcome : std::uint8_t {
    passed,
    failed,
    noted,      // whichever it is: the engine does without
    not_asked,  // the card lacks what the question needs
};
const char* print(Outcome outcome);

struct Answer {
    const char* name = nullptr;  // "wait_before"
    const char* asks = nullptr;  // the question, as a sentence
    Outcome outcome = Outcome::not_asked;
    std::string
        found;  // of a failure: what came instead; of a note: the answer; else empty, or why not asked
};

// Every question, in the order of the answers: a second or two on a card. Throws nothing.
// `only`: the question of that name.
std::vector<Answer> check_conformance(Device& device, const ConformanceLimits& limits = {},
                                      std::string_view only = {});

}  // namespace lapwing::mlx5
