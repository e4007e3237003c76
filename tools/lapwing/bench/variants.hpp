// The variants of `lapwing bench methods`: what is to be set before MPI_Init, and so has a job of its own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace lapwing::tool {

struct MethodVariant {
    std::string name;
    std::string engine;
    std::vector<std::string> variables;  // "LAPWING_TRANSFER=kernel"
};

// Those that are written as NAME:ENGINE:VARIABLES, or the default ones. Throws Error (invalid_argument).
std::vector<MethodVariant> method_variants(const std::vector<std::string>& written);

// What the environment says, with these variables in it.
Settings settings_with(const std::vector<std::string>& variables);

// Adds the rows of a job, which become those of the variant; samples of rows that are there already join
// theirs. The rest of the first job's result is kept.
void join(nlohmann::json& joined, nlohmann::json result, const std::string& variant);

}  // namespace lapwing::tool
