// Tuning files as `lapwing tune` writes them; plan/tuning.hpp has their fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing::tool {

// Throws Error (parse or system) with the place of what is wrong.
nlohmann::ordered_json read_tuning_file(const std::string& path);

// Returns the text of a file: a line for each row, so that files can be read and compared.
std::string print_tuning_file(const nlohmann::ordered_json& file);

}  // namespace lapwing::tool
