// "Did you mean ...?": the valid name that is closest to what was written.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lapwing {

// Levenshtein distance, ignoring case. Empty when nothing is near enough to be meant.
std::string nearest_name(std::string_view written, std::span<const std::string> valid);

// "; did you mean 'pairwise'?" when something is near, else "; valid: flat, pairwise, ring".
std::string suggestion(std::string_view written, std::span<const std::string> valid);

}  // namespace lapwing
