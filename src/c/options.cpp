#include "c/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_name.hpp"
#include "c/status.hpp"
#include "job/settings.hpp"

namespace lapwing::c {
namespace {

constexpr std::string_view prefix = "LAPWING_";

std::vector<std::string> option_names() {
    std::vector<std::string> names;
    for (const SettingRow& row : setting_rows()) {
        std::string name = row.variable + prefix.size();
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
        names.push_back(name);
    }
    return names;
}

// "engine=host" as the variable would be written: "LAPWING_ENGINE=host".
std::string as_variable(std::string_view option) {
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos)
        throw_invalid(fmt::format("option '{}' is not of the form name=value", option));
    const std::string_view name = option.substr(0, equals);
    const std::vector<std::string> names = option_names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        throw_invalid(fmt::format("unknown option '{}'{}", name, suggestion(name, names)));
    const SettingRow& row = setting_rows()[static_cast<std::size_t>(found - names.begin())];
    return fmt::format("{}{}", row.variable, option.substr(equals));
}

}  // namespace

Settings read_group_settings(const char* const* options, const char* const* environment) {
    std::vector<std::string> chosen;
    for (; options != nullptr && *options != nullptr; ++options) chosen.push_back(as_variable(*options));
    std::vector<const char*> all;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        if (std::string_view(*environment).starts_with(prefix)) all.push_back(*environment);
    }
    // What comes later overrides.
    for (const std::string& variable : chosen) all.push_back(variable.c_str());
    all.push_back(nullptr);
    Settings settings = read_settings(all.data());
    check_settings(settings);
    if (settings.network == "mpi")
        throw_invalid("network 'mpi' is the native MPI, which a group of the C API does not have");
    if (settings.engine == "mpi")
        throw_invalid("engine 'mpi' is the native MPI, which a group of the C API does not have");
    if (settings.reproducible == "any")
        throw_invalid(
            "reproducible=any is for MPI programs: a group of the C API reduces in the caller's memory; use "
            "1");
    return settings;
}

}  // namespace lapwing::c
