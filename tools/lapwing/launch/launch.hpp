// The command that `lapwing run` executes: a launcher's command line with options that pass the preload
// library and the settings to every rank on every host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Launch {
    std::vector<std::string> words;
    Variables environment;  // set for words[0]
};

// One line for a shell.
std::string print(const Launch& launch);

// Replaces this process by the program. Throws Error (system).
[[noreturn]] void execute(const Launch& launch);

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

// `timed`: the directory to which the timer of `lapwing compare` writes, preloaded before Lapwing; empty: no
// timer. Throws Error if the MPI has no preload library, or if LD_PRELOAD cannot name its path.
Launch arrange(const Starter& starter, const std::vector<std::string>& words, const Settings& settings,
               Preload which = Preload::lists, const std::string& timed = "");

// Passes one more variable to all ranks, but not on a command line, where other users could read its value.
void pass_unseen(Launch& launch, const Starter& starter, const std::string& variable,
                 const std::string& value);

// Throws Error (system) for a part of Lapwing, made for each MPI, that is in none of the `searched`
// directories.
[[noreturn]] void throw_not_installed(const std::string& file, const std::vector<std::string>& searched,
                                      const MpiFamily& family);

// Returns the LAPWING_ENGINE of a job whose communicators use these engines (or "auto", "mpi"), each by its
// name. Such a job must name an engine that has a network of its own, or that serves only jobs that name it.
// Without one: "host" for the host engine, "auto" if "auto" is among them. Throws Error (invalid_argument)
// for two such engines.
std::string engine_of_job(const std::vector<std::string>& engines);

}  // namespace lapwing::tool
