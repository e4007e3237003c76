// What the ranks do while a collective is in flight: an amount of work, or a sleep.
#pragma once

#include <cstdint>

#include "settings.hpp"

namespace lapwing::overlap {

// So many dependent floating-point operations. It is an amount, not a time: when something else takes the
// processor meanwhile, it takes longer, and that is how stolen time shows.
void work(std::uint64_t operations);

// Sleeps until the clock says so; how late the wake-up comes does not add up.
void sleep_until(double moment);

// One block of either.
struct Block {
    Compute kind = Compute::work;
    std::uint64_t operations = 0;
    double seconds = 0;

    void run() const;
};

}  // namespace lapwing::overlap
