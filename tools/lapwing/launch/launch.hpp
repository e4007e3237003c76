// The command that `lapwing run` turns into: a launcher's command line with the preload library and the
// settings in it, passed to every rank on every host in the launcher's own way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace lapwing::tool {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The settings that differ from their defaults, or from what the environment says.
Variables variables_to_pass(const Settings& settings);

struct Launch {
    std::vector<std::string> words;
    Variables environment;  // set for words[0] itself
};

// In all three an empty `preload` preloads nothing.
// `mpirun -x NAME=value ...`: for every program of "mpirun ... : ..." again.
Launch launch_by_openmpi(const std::vector<std::string>& words, const std::string& preload,
                         const Variables& variables);
// `mpiexec -genv NAME value ...`
Launch launch_by_hydra(const std::vector<std::string>& words, const std::string& preload,
                       const Variables& variables);
// The program itself, or a launcher that passes its environment on.
Launch launch_by_environment(const std::vector<std::string>& words, const std::string& preload,
                             const Variables& variables);

// One line for a shell.
std::string print(const Launch& launch);

// Becomes the program: signals and the exit status are its own. Throws Error (system).
[[noreturn]] void execute(const Launch& launch);

}  // namespace lapwing::tool
