// The environment variables LAPWING_*, read once. Their table is settings.def.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lapwing {

struct Settings {
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) std::string field = usual;
#include "base/settings.def"
};

// What ranks must have in common.
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

// Reads an environment of "NAME=value" strings that ends with null. Throws Error (invalid_argument) for a
// variable LAPWING_* that does not exist, naming the nearest that does. Values are checked by who uses them.
Settings read_settings(const char* const* environment);

// For each row, in its order, a hash of what all ranks must have in common; 0 where that is nothing.
inline constexpr std::size_t setting_count = 0
#define LAPWING_SETTING(field, NAME, usual, agreement, meaning) +1
#include "base/settings.def"
    ;
using SettingHashes = std::array<std::uint64_t, setting_count>;
SettingHashes shared_setting_hashes(const Settings& settings);

// "1", "true", "yes", "on" and their opposites; throws Error (invalid_argument) naming `variable` otherwise.
bool parse_switch(const char* variable, const std::string& value);

// One of the words; throws Error (invalid_argument) naming `variable` and the nearest word otherwise.
void check_word(const char* variable, const std::string& value, const std::vector<std::string>& words);

}  // namespace lapwing
