#include "lapwing/launch/arrange.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/launch/missing.hpp"

namespace lapwing::tool {
namespace {

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
    if (starts_any_mpi(word)) {
        if (const MpiFamily* const of_job = family_in(words)) return {of_job, Way::environment};
    }
    throw Error(ErrorCode::invalid_argument, why_unknown(word));
}

Starter find_launcher(const std::vector<std::string>& words, const std::string& mpi) {
    const Starter starter = find_starter(words, mpi);
    if (starter.way != Way::program) return starter;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is a program; after '--' comes a launcher, such as mpirun -n 2, and "
                            "lapwing adds its own program",
                            words.front()));
}

Launch arrange(const Starter& starter, const std::vector<std::string>& words, const Settings& settings,
               Preload which) {
    const std::string preload = preload_of(*starter.family, which);
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

}  // namespace lapwing::tool
