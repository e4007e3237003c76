// The environment variables LAPWING_*, read once. Their table is settings.def.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lapwing {

struct Settings {
#define LAPWING_SETTING(field, NAME, usual, meaning) std::string field = usual;
#include "base/settings.def"
};

struct SettingRow {
    const char* variable;  // "LAPWING_ENGINE"
    const char* usual;
    const char* meaning;
};
std::span<const SettingRow> setting_rows();

// Reads an environment of "NAME=value" strings that ends with null. Throws Error (invalid_argument) for a
// variable LAPWING_* that does not exist, naming the nearest that does. Values are checked by who uses them.
Settings read_settings(const char* const* environment);

// "1", "true", "yes", "on" and their opposites; throws Error (invalid_argument) naming `variable` otherwise.
bool parse_switch(const char* variable, const std::string& value);

}  // namespace lapwing
