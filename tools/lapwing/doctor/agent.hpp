// The agents that a launcher starts for `lapwing doctor`. They use no MPI and report by standard output only.
#pragma once

#include <string>

namespace lapwing::tool {

// Every rank reports its settings. The first rank of each host also reports the facts of each check.
int survey_host(const std::string& run, const std::string& family, int seconds);
// The first rank of each host tries to reach the other hosts. The ReachTask is in the environment.
int reach_hosts(const std::string& run, int seconds);

}  // namespace lapwing::tool
