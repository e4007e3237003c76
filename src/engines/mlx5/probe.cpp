#include "engines/mlx5/probe.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/error.hpp"
#include "engines/mlx5/conformance.hpp"
#include "engines/mlx5/devx.hpp"

namespace lapwing::mlx5 {

std::string probe(Device& device, const WorkVariant& variant) {
    // On a card that passes, the probe takes no more than the wait for an entry that must not come.
    constexpr ConformanceLimits limits{.max_wait = std::chrono::milliseconds(1000),
                                       .min_wait = std::chrono::milliseconds(10)};
    const char* const question = variant.management ? "wait_master" : "wait_plain";
    const Answer answer = check_conformance(device, limits, question).front();
    return answer.outcome == Outcome::passed ? "" : answer.found;
}

const WorkVariant* fit_variant(Device& device, const WorkVariant* wanted) {
    std::string why;
    for (const bool management : {false, true}) {
        for (const WorkVariant& variant : work_variants()) {
            if (variant.management != management) continue;
            if (wanted != nullptr ? &variant != wanted : variant.writes) continue;
            const std::string unfit = probe(device, variant);
            if (unfit.empty()) return &variant;
            why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", variant.name, unfit);
        }
    }
    throw Error(ErrorCode::unsupported, fmt::format("{} fails the probe: {}", device.name(), why));
}

OpenedCard open_card(const WorkVariant* wanted) {
    OpenedCard opened{open_devx(), nullptr};
    opened.variant = fit_variant(*opened.device, wanted);
    return opened;
}

}  // namespace lapwing::mlx5
