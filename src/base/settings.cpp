#include "base/settings.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/error.hpp"
#include "base/nearest_name.hpp"

namespace lapwing {
namespace {

constexpr SettingRow rows[] = {
#define LAPWING_SETTING(field, NAME, usual, meaning) {"LAPWING_" NAME, usual, meaning},
#include "base/settings.def"
};

}  // namespace

std::span<const SettingRow> setting_rows() {
    return rows;
}

Settings read_settings(const char* const* environment) {
    Settings settings;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry = *environment;
        if (!entry.starts_with("LAPWING_")) continue;
        const std::size_t equals = entry.find('=');
        const std::string_view variable = entry.substr(0, equals);
        const std::string value(equals == std::string_view::npos ? "" : entry.substr(equals + 1));
        bool known = false;
#define LAPWING_SETTING(field, NAME, usual, meaning) \
    if (variable == "LAPWING_" NAME) {               \
        known = true;                                \
        if (!value.empty()) settings.field = value;  \
    }
#include "base/settings.def"
        if (!known) {
            std::vector<std::string> valid;
            for (const SettingRow& row : rows) valid.emplace_back(row.variable);
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("unknown variable {}{}", variable, suggestion(variable, valid)));
        }
    }
    return settings;
}

bool parse_switch(const char* variable, const std::string& value) {
    if (value == "1" || value == "true" || value == "yes" || value == "on") return true;
    if (value.empty() || value == "0" || value == "false" || value == "no" || value == "off") return false;
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is 0 or 1, not '{}'", variable, value));
}

}  // namespace lapwing
