// Makes the command that starts the words after "--" with the preload library of their MPI.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

// How the first word passes variables to the ranks.
enum class Way { program, openmpi, hydra, environment };

struct Starter {
    const MpiFamily* family = nullptr;
    Way way = Way::environment;
};

// `mpi`: the family that the user names; empty: detect it. Throws Error (invalid_argument) if the first word
// is not a program, or if its MPI is not detected.
Starter find_starter(const std::vector<std::string>& words, const std::string& mpi);
// The same for a launch of the tool's own program: also throws if the words begin with a program.
Starter find_launcher(const std::vector<std::string>& words, const std::string& mpi);

// The preloaded library: the one that runs lists, that of `lapwing profile`, or none.
enum class Preload { lists, profile, none };

// Throws Error if the MPI has no preload library, or if LD_PRELOAD cannot name its path.
Launch arrange(const Starter& starter, const std::vector<std::string>& words, const Settings& settings,
               Preload which = Preload::lists);

// Passes one more variable to all ranks, but not on a command line, where other users could read its value.
void pass_unseen(Launch& launch, const Starter& starter, const std::string& variable,
                 const std::string& value);

}  // namespace lapwing::tool
