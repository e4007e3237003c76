// Simulations one beside the other, as far as memory allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lapwing/common/progress_bar.hpp"
#include "predict/study.hpp"

namespace lapwing::tool {

// A case of a study, and what it needs.
struct Job {
    std::string what;            // "alltoall, 4 KiB, 1024 ranks, pairwise:window=6"
    std::uint64_t messages = 0;  // of all its simulations, about
    std::uint64_t memory = 0;    // about

    // Returns why the case cannot run in the study's memory; empty if it can.
    std::string refusal(const Study& study) const;
};

// "3 cases, about 62.9 million messages, up to 707 MiB for a case; about 13 s"
std::string needs_of(const Study& study, const std::vector<Job*>& jobs);

// Begins the jobs in their order; `simulate` runs one of them, by its index. Throws what `simulate` throws.
void run(const Study& study, const std::vector<Job*>& jobs,
         const std::function<void(std::size_t, ProgressBar&)>& simulate);

}  // namespace lapwing::tool
