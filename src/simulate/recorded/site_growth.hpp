// How call sites of a recorded program grow with the number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "simulate/recorded/growth.hpp"
#include "simulate/recorded/replay.hpp"

namespace lapwing::simulate {

struct SiteGrowth {
    int site = 0;
    Growth computing;  // of the time before a call
    Growth bytes;      // that a call sends
};

// Calls visit(action, how many times it runs) for each action of a rank.
void each_action(const std::vector<Action>& script, const std::function<void(const Action&, double)>& visit);

// Returns the bytes of a message, or of a collective's block on average.
std::uint64_t bytes_of(const ReplayOperation& operation);

// `sites`: for each recording, from its sites to the `count` sites of all recordings.
std::vector<SiteGrowth> fit_sites(std::span<const Replay* const> recordings,
                                  const std::vector<std::vector<int>>& sites, int count);

}  // namespace lapwing::simulate
