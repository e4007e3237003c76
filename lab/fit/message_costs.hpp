// What a message costs, for simulations: as Netgauge's method found it, then fitted by simulations of what
// was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/fit.hpp"

namespace lapwing::tool {

// The costs, starting from `start` or from `machine`, for which an engine's simulated times are nearest to
// the measured ones, as ratios. `machine` is asked for copies, too; `burst_bytes` is what links pass at once
// after a pause. Rows of several ranks on a host are left out.
MessageCosts fit_messages(const std::string& engine, const std::vector<Measured>& measured,
                          const MessageCosts& start, const Machine& machine, std::uint64_t burst_bytes);

}  // namespace lapwing::tool
