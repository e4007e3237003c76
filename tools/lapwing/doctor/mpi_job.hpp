// The third launch of `lapwing doctor`: a small MPI job with Lapwing. If it fails, the same without Lapwing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "lapwing/doctor/survey.hpp"

namespace lapwing::tool {

struct MpiResult {
    std::string version;  // of the MPI; empty: no result
    std::string engine;   // of MPI_COMM_WORLD; empty: Lapwing ran no collective
    std::string link_inside_host;
    std::string link_between_hosts;
    int right = 0;
    int collectives = 0;
};

// The launch of the job, whose ranks end after `seconds` at the latest.
Launch mpi_launch(const JobToExamine& job, Preload preload, std::int64_t seconds);

// `network_works`: the hosts reach each other. A failure is then a problem of the MPI or of Lapwing.
MpiResult examine_mpi(const JobToExamine& job, const JobReport& report, bool network_works,
                      std::chrono::milliseconds limit, std::chrono::milliseconds limit_without,
                      Findings& findings, Phase& phase);

}  // namespace lapwing::tool
