// Parses values of variables and options. Each function returns nothing for an invalid text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lapwing {

// A decimal number without a sign.
std::optional<std::uint64_t> parse_number(std::string_view text);

// "4096", "64Ki", "1Mi", "2Gi": a number of bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "0,2-3": numbers of processors, in the order of the text.
std::optional<std::vector<int>> parse_processors(std::string_view text);

}  // namespace lapwing
