// What was predicted of a pipeline, as JSON in the form of `lapwing bench`, and as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lapwing/predict/pipeline/study.hpp"

namespace lapwing::tool {

nlohmann::ordered_json as_json(const Study& study, const std::vector<PipelineCase>& cases);
std::string as_table(const Study& study, const std::vector<PipelineCase>& cases);

}  // namespace lapwing::tool
