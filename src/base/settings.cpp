#include "base/settings.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "base/text_file.hpp"

namespace lapwing {
namespace {

constexpr SettingRow rows[] = {
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) \
    {"LAPWING_" NAME, usual, Agreement::agreement, meaning},
#include "base/settings.def"
};

[[noreturn]] void refuse_unknown(std::string_view variable) {
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning)
#define LAPWING_FORMER_SETTING(NAME, PRESENT)                             \
    if (variable == "LAPWING_" NAME) {                                    \
        throw_invalid("LAPWING_" NAME " is now called LAPWING_" PRESENT); \
    }
#include "base/settings.def"
    std::vector<std::string> valid;
    for (const SettingRow& row : rows) valid.emplace_back(row.variable);
    throw_invalid("unknown variable {}{}", variable, suggestion(variable, valid));
}

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
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) \
    if (variable == "LAPWING_" NAME) {                          \
        known = true;                                           \
        if (!value.empty()) settings.field = value;             \
    }
#include "base/settings.def"
        if (!known) refuse_unknown(variable);
    }
    return settings;
}

SettingHashes shared_setting_hashes(const Settings& settings) {
    const std::string* const values[] = {
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) &settings.field,
#include "base/settings.def"
    };
    SettingHashes hashes{};
    for (std::size_t i = 0; i < setting_count; ++i) {
        const std::string& value = *values[i];
        if (rows[i].agreement == Agreement::same) hashes[i] = fingerprint_of(value);
        if (rows[i].agreement == Agreement::set) hashes[i] = value == rows[i].usual ? 1 : 2;
    }
    return hashes;
}

bool parse_switch(const char* variable, const std::string& value) {
    if (value == "1" || value == "true" || value == "yes" || value == "on") return true;
    if (value.empty() || value == "0" || value == "false" || value == "no" || value == "off") return false;
    throw_invalid("{} must be 0 or 1, not '{}'", variable, value);
}

void check_word(std::string_view name, const std::string& value, const std::vector<std::string>& words) {
    if (std::ranges::find(words, value) != words.end()) return;
    throw_invalid("{}: unknown value '{}'{}", name, value, suggestion(value, words));
}

}  // namespace lapwing
