// What was predicted of a recorded program, as JSON in the form of `lapwing bench`, and as tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lapwing/predict/program/study.hpp"

namespace lapwing::tool {

nlohmann::ordered_json as_json(const Study& study, const std::vector<ProgramCase>& cases);
std::string as_table(const Study& study, const std::vector<ProgramCase>& cases);

}  // namespace lapwing::tool
