// The first launch of `lapwing doctor`: who answers, and with which facts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/doctor/check.hpp"
#include "lapwing/doctor/findings.hpp"
#include "lapwing/launch/arrange.hpp"

namespace lapwing::tool {

// A launch as the doctor saw it.
struct Phase {
    bool works = false;
    double seconds = 0;
    std::string words;  // what came of it, for the table
};

struct JobToExamine {
    Starter starter;
    std::vector<std::string> launcher;  // its words
    Settings settings;
};

// Starts the survey on all ranks, judges what they say, and gives it. `arrival` becomes the time between the
// first rank's report and the last one's.
JobReport survey_job(const JobToExamine& job, std::chrono::milliseconds limit, Findings& findings,
                     Phase& phase, std::chrono::milliseconds& arrival);

// Starts this tool on all ranks, as an agent with a task: "survey" or "reach". `seconds` after which it ends
// in any case.
Launch agent_launch(const JobToExamine& job, const char* task, std::int64_t seconds);
// For messages: "; it says: ..." of the first lines that say something; empty without any.
std::string last_words(const std::vector<std::string>& lines);

}  // namespace lapwing::tool
