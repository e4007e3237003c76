// What tests of the mlx5 engine share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/engine.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing::testing_engines {

inline const WorkVariant& variant(std::string_view name) {
    for (const WorkVariant& each : work_variants()) {
        if (each.name == name) return each;
    }
    throw Error(ErrorCode::internal, std::string(name));
}

// As a planner does.
inline std::unique_ptr<Prepared> prepare(GroupEngine& group, const Problem& problem, int rank,
                                         const Choice& choice) {
    EXPECT_TRUE(group.admit(problem, [&](int of) { return build(problem, of, choice); }, {}));
    return group.prepare(problem, build(problem, rank, choice), {});
}

}  // namespace lapwing::testing_engines
