#include "lapwing/compare/results.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

// Removes a number from the beginning of the text.
std::optional<double> take_number(std::string_view& text) {
    const bool plus = text.starts_with('+');
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data() + (plus ? 1 : 0), text.data() + text.size(), number);
    if (error != std::errc()) return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string state_of(const std::string& file) {
    struct stat found {};
    if (stat(file.c_str(), &found) != 0) return "";
    return fmt::format("{} {} {}", found.st_ino, found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

// Empty: none.
std::optional<std::regex> read_pattern(const char* option, const std::string& pattern) {
    try {
        if (!pattern.empty()) return std::regex(pattern);
    } catch (const std::regex_error& error) {
        throw_invalid(fmt::format("{}: '{}' is not a regular expression: {}", option, pattern, error.what()));
    }
    return {};
}

// Also those that a progress bar ends with carriage returns.
std::vector<std::string> lines_in(std::string output) {
    std::ranges::replace(output, '\r', '\n');
    return split(output, '\n');
}

// std::regex takes stack for each character.
bool search(const std::string& line, const std::regex& pattern, std::smatch& match) {
    constexpr std::size_t max_length = 4000;
    const auto length = static_cast<std::ptrdiff_t>(std::min(line.size(), max_length));
    return std::regex_search(line.begin(), line.begin() + length, match, pattern);
}

}  // namespace

bool equal_within(std::string_view one, std::string_view other, double tolerance) {
    for (;;) {
        skip_blanks(one);
        skip_blanks(other);
        if (one.empty() || other.empty()) return one.empty() && other.empty();
        const std::optional<double> first = take_number(one);
        const std::optional<double> second = take_number(other);
        if (first.has_value() != second.has_value()) return false;
        if (first) {
            const double apart = std::abs(*first - *second);
            const double larger = std::max(std::abs(*first), std::abs(*second));
            const bool equal = *first == *second || (std::isnan(*first) && std::isnan(*second));
            if (!equal && !(std::isfinite(apart) && apart <= tolerance * larger)) return false;
            continue;
        }
        if (one.front() != other.front()) return false;
        one.remove_prefix(1);
        other.remove_prefix(1);
    }
}

PrintedTime::PrintedTime(const std::string& pattern) : line_(read_pattern("--time", pattern)) {
    if (line_ && line_->mark_count() == 0)
        throw_invalid(fmt::format(
            "--time: '{}' has no group for the seconds: write for example \"Loop time of (\\S+)\"", pattern));
}

std::optional<double> PrintedTime::find(const std::string& output) const {
    std::optional<double> found;
    for (const std::string& line : lines_in(output)) {
        std::smatch match;
        if (!search(line, *line_, match)) continue;
        const std::string written = match[1];
        std::string_view text = written;
        found = take_number(text);
        if (found && (!text.empty() || !std::isfinite(*found) || *found <= 0)) found.reset();
    }
    return found;
}

Results::Results(std::vector<std::string> files, const std::string& lines, double tolerance)
    : files_(std::move(files)), lines_(read_pattern("--same-output", lines)), tolerance_(tolerance) {}

void Results::before_run() {
    before_.clear();
    for (const std::string& file : files_) before_.push_back(state_of(file));
}

std::string Results::lines_of(const std::string& output) const {
    std::string found;
    std::smatch match;
    for (const std::string& line : lines_in(output)) {
        if (lines_ && search(line, *lines_, match)) found += line + "\n";
    }
    return found;
}

bool Results::equal(const std::string& one, const std::string& other) const {
    return tolerance_ > 0 ? equal_within(one, other, tolerance_) : one == other;
}

std::string Results::after_run(const std::string& output) {
    std::vector<std::string> results;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        if (state_of(files_[i]) == before_[i]) return fmt::format("it did not write '{}'", files_[i]);
        std::ifstream file(files_[i], std::ios::binary);
        if (!file || !std::filesystem::is_regular_file(files_[i]))
            return fmt::format("'{}' cannot be read", files_[i]);
        results.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    results.push_back(lines_of(output));
    if (lines_ && results.back().empty()) return "no line of its output matches --same-output";
    if (first_.empty()) first_ = results;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (equal(first_[i], results[i])) continue;
        std::vector<std::string> first = split(first_[i], '\n');
        std::vector<std::string> now = split(results[i], '\n');
        first.resize(std::max(first.size(), now.size()));
        now.resize(first.size());
        std::size_t line = 0;
        while (line + 1 < now.size() && equal(first[line], now[line])) ++line;
        const auto shown = [](const std::string& text) { return printable(text.substr(0, 200)); };
        return fmt::format("{} differs from that of the first run: '{}', there '{}'",
                           i < files_.size() ? fmt::format("'{}'", files_[i]) : "its output",
                           shown(now[line]), shown(first[line]));
    }
    return "";
}

}  // namespace lapwing::tool
