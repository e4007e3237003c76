// Engines that a machine may lack. A test that needs one is skipped and says why; it fails where the engine
// is promised: TEST_ENGINES=host,kernel,triggered in the environment, as in CI (.ci/run).
#pragma once

#include "engines/catalogue.hpp"
#include "support/unit.hpp"

namespace lapwing::testing_engines {

inline bool promised(const Engine& engine) {
    const char* const promises = std::getenv("TEST_ENGINES");
    const std::string among = "," + std::string(promises == nullptr ? "" : promises) + ",";
    return among.find("," + std::string(engine.name()) + ",") != std::string::npos;
}

}  // namespace lapwing::testing_engines

// In the body of a test, or in SetUp.
#define LAPWING_NEEDS_ENGINE(engine)                                                                 \
    if (const lapwing::Verdict available = (engine).available(); !available) {                       \
        if (lapwing::testing_engines::promised(engine))                                              \
            FAIL() << "TEST_ENGINES promises " << (engine).name() << ", but " << available.reason(); \
        GTEST_SKIP() << (engine).name() << " is not available: " << available.reason();              \
    }                                                                                                \
    static_assert(true)
