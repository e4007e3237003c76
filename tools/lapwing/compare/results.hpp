// What the runs of a comparison compute, which must not depend on the variant.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

// Whether two texts are equal but for blanks and for numbers that differ by at most this share of the larger
// one.
bool equal_within(std::string_view one, std::string_view other, double tolerance);

// The time that a program prints itself.
class PrintedTime {
  public:
    // Its first group is the seconds; empty: programs print none. Throws Error (invalid_argument) for a wrong
    // regular expression.
    explicit PrintedTime(const std::string& pattern);

    bool is_printed() const { return line_.has_value(); }
    // Of the last line that matches.
    std::optional<double> find(const std::string& output) const;

  private:
    std::optional<std::regex> line_;
};

class Results {
  public:
    // `files`: those that each run writes. `lines`: the lines of the output that must agree; empty: none.
    // `tolerance`: 0: byte for byte. Throws Error (invalid_argument) for a wrong regular expression.
    Results(std::vector<std::string> files, const std::string& lines, double tolerance);

    void before_run();
    // Returns what differs from the first run, or why nothing could be compared; empty: nothing.
    std::string after_run(const std::string& output);

  private:
    std::string lines_of(const std::string& output) const;
    bool equal(const std::string& one, const std::string& other) const;

    const std::vector<std::string> files_;
    std::optional<std::regex> lines_;
    const double tolerance_;
    std::vector<std::string> before_;  // of each file, what changes when it is written
    std::vector<std::string> first_;   // contents of the first run's files, then its lines
};

}  // namespace lapwing::tool
