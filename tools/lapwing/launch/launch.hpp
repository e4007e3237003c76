// The command that `lapwing run` executes: a launcher's command line with options that pass the preload
// library and the settings to every rank on every host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace lapwing::tool {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The settings that differ from their defaults or from the environment.
Variables variables_to_pass(const Settings& settings);

struct Launch {
    std::vector<std::string> words;
    Variables environment;  // set for words[0]
};

// In these three functions an empty `preload` preloads nothing.
// `mpirun -x NAME=value ...`, repeated for every program of "mpirun ... : ...".
Launch launch_by_openmpi(const std::vector<std::string>& words, const std::string& preload,
                         const Variables& variables);
// `mpiexec -genv NAME value ...`
Launch launch_by_hydra(const std::vector<std::string>& words, const std::string& preload,
                       const Variables& variables);
// A program, or a launcher that passes its environment to the ranks.
Launch launch_by_environment(const std::vector<std::string>& words, const std::string& preload,
                             const Variables& variables);

// One line for a shell.
std::string print(const Launch& launch);

// Replaces this process by the program. Throws Error (system).
[[noreturn]] void execute(const Launch& launch);

}  // namespace lapwing::tool
