// The second launch of `lapwing doctor`: which hosts reach each other by which addresses and ports, and how
// fast the connections are.
#pragma once

#include <chrono>

#include "lapwing/doctor/survey.hpp"

namespace lapwing::tool {

// The figures of one network over all measured pairs of hosts.
struct NetworkFigures {
    std::string network;  // "10.77.0.0/24"
    std::string interface;
    int pairs = 0;
    std::vector<double> round_trips_us;  // sorted
    std::vector<double> mbit_per_s;      // of both directions, sorted
};

// `late`: the maximum delay between the starts of two agents.
std::vector<NetworkFigures> examine_network(const JobToExamine& job, const JobReport& report,
                                            std::chrono::milliseconds limit, std::chrono::milliseconds late,
                                            Findings& findings, Phase& phase);

}  // namespace lapwing::tool
