#include "base/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace lapwing {

namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
    return parse<std::uint64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
    const auto number = parse<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    unsigned shift = 0;
    for (const auto& [suffix, bits] : {std::pair<const char*, unsigned>{"Ki", 10}, {"Mi", 20}, {"Gi", 30}}) {
        if (!text.ends_with(suffix)) continue;
        text.remove_suffix(2);
        shift = bits;
        break;
    }
    const auto bytes = parse_number(text);
    if (!bytes || *bytes > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
    return *bytes << shift;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::optional<std::vector<int>> parse_processors(std::string_view text) {
    constexpr std::uint64_t max_processors = 1 << 16;
    std::vector<int> processors;
    for (const std::string_view entry : split(text, ',')) {
        const std::size_t dash = entry.find('-');
        const auto first = parse_number(entry.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_number(entry.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= max_processors) return std::nullopt;
        for (std::uint64_t number = *first; number <= *last; ++number)
            processors.push_back(static_cast<int>(number));
    }
    return processors;
}

std::string print_ranges(std::span<const int> numbers, std::string_view separator, int max_runs) {
    std::string text;
    for (std::size_t begin = 0; begin < numbers.size();) {
        std::size_t last = begin;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (max_runs-- == 0) return fmt::format("{}{}... ({} in all)", text, separator, numbers.size());
        text += fmt::format("{}{}", text.empty() ? "" : separator, numbers[begin]);
        if (last > begin) text += fmt::format("-{}", numbers[last]);
        begin = last + 1;
    }
    return text;
}

void refuse_value(std::string_view name, std::string_view form, std::string_view value) {
    throw_invalid("{} must be {}, not '{}'", name, form, value);
}

std::uint64_t number_in(std::string_view name, std::string_view value, std::uint64_t min, std::uint64_t max) {
    const auto number = parse_number(value);
    if (!number || *number < min || *number > max)
        refuse_value(name, fmt::format("a whole number from {} to {}", min, max), value);
    return *number;
}

double real_in(std::string_view name, std::string_view value, double min, double max) {
    const auto number = parse_real(value);
    if (!number || *number < min || *number > max)
        refuse_value(name, fmt::format("a number from {} to {}", min, max), value);
    return *number;
}

std::uint64_t bytes_in(std::string_view name, std::string_view value, std::uint64_t min, std::uint64_t max) {
    const auto bytes = parse_bytes(value);
    if (!bytes || *bytes < min || *bytes > max)
        refuse_value(name, fmt::format("a number of bytes from {} to {}, such as 32Ki", min, max), value);
    return *bytes;
}

}  // namespace lapwing
