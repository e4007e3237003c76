// Values that people write, in variables and options.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lapwing {

// A whole number, nothing before or after it.
std::optional<std::uint64_t> parse_number(std::string_view text);

// "4096", "64Ki", "1Mi", "2Gi": a number of bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "0,2-3": the numbers of processors, in the order in which they are written.
std::optional<std::vector<int>> parse_processors(std::string_view text);

}  // namespace lapwing
