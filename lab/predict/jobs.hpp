// Simulations one beside the other, as far as time and memory allow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lapwing/common/progress_bar.hpp"
#include "predict/study.hpp"

namespace lapwing::tool {

struct Job {
    std::uint64_t messages = 0;  // about
    std::uint64_t memory = 0;    // about
    std::function<void(ProgressBar&)> run = {};
    // What came of it.
    std::string left_out = {};  // why it did not run
    double seconds = 0;         // that it took
};

// "3 cases, about 62.9 million messages, up to 707 MiB for a case; about 13 s"
std::string needs_of(const Study& study, const std::vector<Job>& jobs);

// Begins them in their order. What would not end in the study's time is left out. Throws what a job throws.
void run(const Study& study, std::vector<Job>& jobs);

}  // namespace lapwing::tool
