// What tests of the mlx5 engine share.
#pragma once

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/engine.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "engines/ranks.hpp"
#include "support/unit.hpp"

namespace lapwing::testing_engines {

inline const WorkVariant& variant(std::string_view name) {
    for (const WorkVariant& each : work_variants())
        if (each.name == name) return each;
    throw Error(ErrorCode::internal, std::string(name));
}

// As a planner does.
inline std::unique_ptr<Prepared> prepare(GroupEngine& group, const Problem& problem, int rank,
                                         const Choice& choice) {
    EXPECT_TRUE(group.admit(problem, [&](int of) { return build(problem, of, choice); }, {}));
    return group.prepare(problem, build(problem, rank, choice), {});
}

// A rank and its runs of one problem, on an emulator of a card that advances by hand.
struct CardRank {
    CardRank(std::unique_ptr<mlx5_double::DoubleDevice> device, Link& messages, const WorkVariant& variant,
             const Problem& problem, int rank, const Choice& choice)
        : card(std::move(device)),
          group(open_mlx5_group(*card, messages, variant)),
          runs(std::make_unique<RankRuns>(problem, rank, prepare(*group, problem, rank, choice))) {}

    std::unique_ptr<mlx5_double::DoubleDevice> card;
    std::unique_ptr<GroupEngine> group;
    std::unique_ptr<RankRuns> runs;
};

}  // namespace lapwing::testing_engines
