// Which MPIs this machine has: libraries that the loader finds, and launchers on PATH.
#pragma once

#include <nlohmann/json.hpp>

#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

// Those of a family that the loader finds: [{"path", "version": the first line of MPI_Get_library_version}].
nlohmann::ordered_json find_libraries(const MpiFamily& family);

// For every family {"name", "title", "libraries", "launchers", "preload": its path or null}, even if nothing
// of it was found. A launcher is {"paths": names on PATH of one and the same program, "version"}.
nlohmann::ordered_json survey_mpi();

}  // namespace lapwing::tool
