// Parses values of variables and options, and prints counts. Each parse function returns nothing for an
// invalid text.
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing {

// A decimal number without a sign.
std::optional<std::uint64_t> parse_number(std::string_view text);
// A finite decimal number, such as 0.5 or 1e-3.
std::optional<double> parse_real(std::string_view text);

// "4096", "64Ki", "1Mi", "2Gi": a number of bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// At least one part, which may be empty.
std::vector<std::string_view> split(std::string_view text, char separator);

// "0,2-3": numbers of processors, in the order of the text.
std::optional<std::vector<int>> parse_processors(std::string_view text);
// The same text, of numbers in ascending order; "0,2,... (9 in all)" after `max_runs` runs.
std::string print_ranges(std::span<const int> numbers, std::string_view separator = ",",
                         int max_runs = INT_MAX);

// "1 rank", "2 ranks"; "1 reply", "2 replies" if `many` is "replies".
template <typename Number>
std::string counted(Number count, const std::string& one, const std::string& many = "") {
    return std::to_string(count) + ' ' + (count == 1 ? one : many.empty() ? one + 's' : many);
}

// These functions read all numbers in settings and options. `name` is that of the variable or of the option.
// Throws Error (invalid_argument): "LAPWING_TIMEOUT must be a number from 1 to 86400, not 'x'".
[[noreturn]] void refuse_value(std::string_view name, std::string_view form, std::string_view value);
// The same, unless the value is a whole number from `min` to `max`.
std::uint64_t number_in(std::string_view name, std::string_view value, std::uint64_t min, std::uint64_t max);
// The same, unless the value is a number from `min` to `max`.
double real_in(std::string_view name, std::string_view value, double min, double max);
// The same, unless the value is a number of bytes from `min` to `max`.
std::uint64_t bytes_in(std::string_view name, std::string_view value, std::uint64_t min, std::uint64_t max);

}  // namespace lapwing
