// The third launch of `lapwing doctor`: a small MPI job with Lapwing in it, and once more without if it
// fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "lapwing/doctor/survey.hpp"

namespace lapwing::tool {

struct MpiResult {
    std::string version;  // of the MPI; empty: it gave no result
    std::string engine;   // of MPI_COMM_WORLD; empty: Lapwing took no call
    std::string link_inside_host;
    std::string link_between_hosts;
    int right = 0;
    int collectives = 0;
};

// Its launch; `seconds` after which its ranks end in any case.
Launch mpi_launch(const JobToExamine& job, Preload preload, std::int64_t seconds);

// `network_works`: the hosts reach each other, so that a failure says something about the MPI.
MpiResult examine_mpi(const JobToExamine& job, const JobReport& report, bool network_works,
                      std::chrono::milliseconds limit, std::chrono::milliseconds limit_without,
                      Findings& findings, Phase& phase);

}  // namespace lapwing::tool
