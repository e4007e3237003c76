// Waits for a run in tests.
#pragma once

#include "engines/engine.hpp"
#include "engines/wait_strategy.hpp"
#include "support/unit.hpp"

namespace lapwing {

inline void wait(Prepared& prepared, Operation* operation) {
    WaitStrategy strategy;
    while (!prepared.progress(operation)) {
        if (strategy.after_poll({.oversubscribed = true, .polls_in_kernel = true}) !=
            WaitStrategy::Step::sleep) {
            std::this_thread::yield();
            continue;
        }
        strategy.sleep(std::chrono::milliseconds(20), [&](std::chrono::nanoseconds limit) {
            const int descriptor = prepared.prepare_to_sleep(operation);
            if (descriptor >= 0) return sleep_at(std::span(&descriptor, 1), limit);
            std::this_thread::yield();
            return trace::WakeUp::limit;
        });
    }
}

}  // namespace lapwing
