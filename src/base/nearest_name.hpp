// "Did you mean ...?": suggests the valid name that is nearest to a misspelled one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lapwing {

// By the Levenshtein distance, ignoring case. Returns an empty string if no name is near enough.
std::string nearest_name(std::string_view written, std::span<const std::string> valid);

// Returns "; did you mean 'pairwise'?", or "; valid: flat, pairwise, ring" if no name is near enough.
std::string suggestion(std::string_view written, std::span<const std::string> valid);

}  // namespace lapwing
