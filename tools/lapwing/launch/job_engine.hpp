#pragma once

#include <string>
#include <vector>

namespace lapwing::tool {

// Returns the LAPWING_ENGINE of a job whose communicators use these engines (or "auto", "mpi"), each by its
// name. Such a job must name an engine that has a network of its own, or that serves only jobs that name it.
// Without one: "host" for the host engine, "auto" if "auto" is among them. Throws Error (invalid_argument)
// for two such engines.
std::string engine_of_job(const std::vector<std::string>& engines);

}  // namespace lapwing::tool
