// From the words after "--" to the command that starts them with the preload library of their MPI.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

// How the first word passes variables on to the ranks.
enum class Way { program, openmpi, hydra, environment };

struct Starter {
    const MpiFamily* family = nullptr;
    Way way = Way::environment;
};

// `mpi` is the family that the user names; empty: detected. Throws Error (invalid_argument) if the first word
// is no program, or its MPI is not detected.
Starter find_starter(const std::vector<std::string>& words, const std::string& mpi);
// The same where the tool adds a program of its own: throws for words that begin with a program, too.
Starter find_launcher(const std::vector<std::string>& words, const std::string& mpi);

// Which library is preloaded: the lists, the clocks of lapwing profile, or none.
enum class Preload { lists, profile, none };

// Throws Error when there is no preload library for the MPI, or none that LD_PRELOAD can name.
Launch arrange(const Starter& starter, const std::vector<std::string>& words, const Settings& settings,
               Preload which = Preload::lists);

// Passes one more variable to all ranks, whose value is on no command line, where other users would see it.
void pass_unseen(Launch& launch, const Starter& starter, const std::string& variable,
                 const std::string& value);

}  // namespace lapwing::tool
