#include "lapwing/launch/launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "engines/catalogue.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

std::string from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr ? value : "";
}

// Libraries of the user come first: a tool among them sees all calls and passes them on to Lapwing.
std::string join_preload(const std::string& preload, const std::string& others) {
    return others.empty() ? preload : others + ":" + preload;
}

constexpr const char* preload_variable = "LD_PRELOAD";

}  // namespace

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

Launch launch_by_openmpi(const std::vector<std::string>& words, const std::string& preload,
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
    if (!preload.empty())
        ours = {"-x", fmt::format("{}={}", preload_variable, join_preload(preload, others))};
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

Launch launch_by_hydra(const std::vector<std::string>& words, const std::string& preload,
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
        launch.words.insert(launch.words.end(), {"-genv", preload_variable, join_preload(preload, others)});
    for (const auto& [variable, value] : variables) {
        launch.words.insert(launch.words.end(), {"-genv", variable, value});
    }
    launch.words.insert(launch.words.end(), kept.begin(), kept.end());
    return launch;
}

Launch launch_by_environment(const std::vector<std::string>& words, const std::string& preload,
                             const Variables& variables) {
    Launch launch{words, {}};
    if (!preload.empty()) {
        launch.environment.emplace_back(preload_variable,
                                        join_preload(preload, from_environment(preload_variable)));
    }
    launch.environment.insert(launch.environment.end(), variables.begin(), variables.end());
    return launch;
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

}  // namespace lapwing::tool
