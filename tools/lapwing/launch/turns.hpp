// Jobs that are compared run in turns, so that a machine that becomes slower or faster does so for all of
// them.
#pragma once

#include <cstddef>
#include <functional>

namespace lapwing::tool {

// Calls run(job, pass) for each of `jobs` jobs in each of `passes` passes. The first pass begins with job 0,
// each further one with the next job. Stops when `run` returns false; returns whether it never did.
bool run_in_turns(std::size_t jobs, std::size_t passes,
                  const std::function<bool(std::size_t job, std::size_t pass)>& run);

}  // namespace lapwing::tool
