// Jobs that are compared run in turns, so that a machine that becomes slower or faster does so for all of
// them.
#pragma once

#include <cstddef>

namespace lapwing::tool {

// Calls run(job, pass) for each of `jobs` jobs in each of `passes` passes. The first pass begins with job 0,
// each further one with the next job. Stops when `run` returns false; returns whether it never did.
template <typename Run>
bool run_in_turns(std::size_t jobs, std::size_t passes, Run run) {
    for (std::size_t turn = 0; turn < jobs * passes; ++turn) {
        const std::size_t pass = turn / jobs;
        if (!run((turn + pass) % jobs, pass)) return false;
    }
    return true;
}

}  // namespace lapwing::tool
