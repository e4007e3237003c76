// The launches of `lapwing doctor`: a survey of each host, connections between the hosts, a small MPI job.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/doctor/check.hpp"
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

// Tests which hosts reach each other, by which addresses and ports. `late`: the maximum delay between the
// starts of two agents. Adds what is wrong to `findings` and returns the outcome.
Phase examine_network(const JobToExamine& job, const JobReport& report, std::chrono::milliseconds limit,
                      std::chrono::milliseconds late, Findings& findings);

// The launch of the job, whose ranks end after `seconds` at the latest.
Launch mpi_launch(const JobToExamine& job, Preload preload, std::int64_t seconds);

// Runs a small MPI job with Lapwing; if it fails, the same without Lapwing. `network_works`: the hosts reach
// each other, so a failure is a problem of the MPI or of Lapwing. Returns an empty object without a result,
// else {"version": of the MPI; "engine": of MPI_COMM_WORLD, empty if Lapwing ran no collective; "messages":
// "on", or why messages of the program do not move while it computes; "link_inside_host",
// "link_between_hosts"; "right" of "collectives"}.
nlohmann::json examine_mpi(const JobToExamine& job, const JobReport& report, bool network_works,
                           std::chrono::milliseconds limit, std::chrono::milliseconds limit_without,
                           Findings& findings, Phase& phase);

}  // namespace lapwing::tool
