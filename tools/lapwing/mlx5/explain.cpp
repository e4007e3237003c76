#include <fmt/format.h>

#include <vector>

#include "base/error.hpp"
#include "base/values.hpp"
#include "collectives/catalogue.hpp"
#include "engines/mlx5/entries_text.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/mlx5/commands.hpp"

namespace lapwing::tool {
namespace {

const WorkVariant& variant_of(const std::string& name) {
    std::vector<std::string> names;
    for (const WorkVariant& variant : work_variants()) names.emplace_back(variant.name);
    return work_variants()[name.empty() ? 0 : pick("--variant", name, names)];
}

}  // namespace

std::string print_work_queues(const Problem& problem, const Choice& choice, std::span<const List> shown,
                              const std::string& variant_name) {
    const WorkVariant& variant = variant_of(variant_name);
    const bool writes = variant.writes && !mlx5::sends_only(problem);
    const auto receives_at = [&](int peer, int from) -> std::vector<Span> {
        const List list = build(problem, peer, choice);
        if (!writes || !mlx5::written_to(list)) return {};
        for (const WorkQueue& queue : lower_to_work_queues(list, variant).queues) {
            if (queue.peer == from) return queue.receives;
        }
        return {};
    };
    std::string text;
    for (const List& list : shown) {
        if (const Verdict verdict = has_work_queues(list); !verdict)
            throw Error(ErrorCode::unsupported, fmt::format("the list of rank {} has no work queues: {}",
                                                            list.rank, verdict.reason()));
        text += mlx5::print_entries(
            lower_to_work_queues(list, variant),
            {writes && mlx5::written_to(list), [&](int peer) { return receives_at(peer, list.rank); }});
    }
    return text;
}

}  // namespace lapwing::tool
