// Whether a benchmark has measured what it says.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing::tool {

// Adds to each row of a job's result "used", who ran the row's collectives, and "confirmed", whether that is
// `engine` for all calls on all ranks; else "unconfirmed" with the reason. "not_driven": why Lapwing's thread
// does not drive the MPI in the job of the engine "mpi". For an engine Lapwing's report of
// the job decides; for "native", the MPI alone, that no rank has loaded Lapwing's library.
void confirm_rows(nlohmann::json& result, const std::string& engine);

}  // namespace lapwing::tool
