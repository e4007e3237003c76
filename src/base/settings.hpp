// The environment variables LAPWING_*. Their table is settings.def.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing {

struct Settings {
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) std::string field = usual;
#include "base/settings.def"
};

// What must be equal on all ranks.
enum class Agreement {
    same,  // the value
    set,   // whether it differs from the default
    own,   // nothing
};

struct SettingRow {
    const char* variable;  // "LAPWING_ENGINE"
    const char* usual;
    Agreement agreement;
    const char* meaning;
};
std::span<const SettingRow> setting_rows();

// Reads an environment of "NAME=value" strings that ends with null. Throws Error (invalid_argument) for an
// unknown variable LAPWING_*, with the nearest valid name. Does not check values.
Settings read_settings(const char* const* environment);

// For each row, a hash of what must be equal on all ranks; 0 for Agreement::own.
inline constexpr std::size_t setting_count = 0
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) +1
#include "base/settings.def"
    ;
using SettingHashes = std::array<std::uint64_t, setting_count>;
SettingHashes shared_setting_hashes(const Settings& settings);

// Parses "1", "true", "yes", "on" and their opposites. Throws Error (invalid_argument) for any other value.
bool parse_switch(const char* variable, const std::string& value);

// Throws Error (invalid_argument), with `name` and the nearest word, if `value` is not one of `words`.
void check_word(std::string_view name, const std::string& value, const std::vector<std::string>& words);

}  // namespace lapwing
