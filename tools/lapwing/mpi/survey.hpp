// Which MPIs this machine has: libraries that the loader finds, and launchers on PATH.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

struct FoundLibrary {
    std::string path;
    std::string version;  // the first line of MPI_Get_library_version
};
struct FoundLauncher {
    std::vector<std::string> paths;  // names on PATH of one and the same program
    std::string version;
};
struct FoundMpi {
    const MpiFamily* family = nullptr;
    std::vector<FoundLibrary> libraries;
    std::vector<FoundLauncher> launchers;
    std::optional<std::string> preload;
};

// Those of a family that the loader finds.
std::vector<FoundLibrary> find_libraries(const MpiFamily& family);

// One for every family, even if nothing of it was found.
std::vector<FoundMpi> survey_mpi();

}  // namespace lapwing::tool
