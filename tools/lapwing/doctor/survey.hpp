// The first launch of `lapwing doctor`: collects the facts of all hosts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/doctor/check.hpp"
#include "lapwing/doctor/findings.hpp"
#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

// The outcome of a launch.
struct Phase {
    bool works = false;
    double seconds = 0;
    std::string words;  // the outcome, for the table
};

struct JobToExamine {
    Starter starter;
    std::vector<std::string> launcher;  // its words
    Settings settings;
};

// Starts the survey on all ranks, judges their reports and returns them. Sets `arrival` to the time between
// the first and the last report.
JobReport survey_job(const JobToExamine& job, std::chrono::milliseconds limit, Findings& findings,
                     Phase& phase, std::chrono::milliseconds& arrival);

// The launch of this tool on all ranks as an agent with a task: "survey" or "reach". The agents end after
// `seconds` at the latest.
Launch agent_launch(const JobToExamine& job, const char* task, std::int64_t seconds);
// For messages: "; its output: ..." with the first lines that are not empty; empty without any.
std::string last_words(const std::vector<std::string>& lines);

}  // namespace lapwing::tool
