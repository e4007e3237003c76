// What was predicted, as JSON in the form of `lapwing bench`, and as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lapwing/predict/run.hpp"

namespace lapwing::tool {

nlohmann::ordered_json as_json(const Study& study, const Cases& cases,
                               const std::vector<PredictedCase>& predicted);
std::string as_table(const Study& study, const Cases& cases, const std::vector<PredictedCase>& predicted);

}  // namespace lapwing::tool
