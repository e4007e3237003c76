// Calls with the same number that differ between the ranks of a communicator.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "watch/finding.hpp"
#include "watch/job_view.hpp"

namespace lapwing::watch {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

struct Mismatches {
    std::vector<Finding> findings;  // at most one for each communicator
    // By communicator: the number of the first call that does not match; `never` if all match. Later calls
    // say nothing.
    std::vector<std::uint64_t> first;
};
Mismatches find_mismatches(const JobView& job);

// Compares the calls at the end of a job, when every rank has made all its calls. Returns one sentence for
// each communicator whose ranks have made different calls.
std::vector<std::string> compare_at_end(std::span<const RankSnapshot> answers);

}  // namespace lapwing::watch
