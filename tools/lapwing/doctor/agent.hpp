// What a launcher starts for `lapwing doctor` on the hosts of a job: no MPI, and nothing but standard output.
#pragma once

#include <string>

namespace lapwing::tool {

// Every rank reports its settings; the first of each host the facts of all checks, one report for each.
int survey_host(const std::string& run, const std::string& family, int seconds);
// The first rank of each host tries the other hosts, by the ReachTask in the environment.
int reach_hosts(const std::string& run, int seconds);

}  // namespace lapwing::tool
