// Reports of ranks to `lapwing doctor`, by their standard output: the one way back that every launcher has,
// also where nothing else reaches from host to host.
//
// A report is JSON, cut into lines of one length, a power of two: a launcher that reads blocks and forwards
// them cuts no line in two, and does not mix those of different ranks.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

inline constexpr std::size_t report_line_bytes = 512;

// Writes one to standard output. By one thread at a time.
void write_report(const nlohmann::json& report);

class ReportReader {
  public:
    // A line of a job's output, which may have a prefix by the launcher. Whether it belongs to a report.
    bool take(std::string_view line);
    // The reports that became complete since the last call.
    std::vector<nlohmann::json> take_reports();

  private:
    void take_part(std::string_view line);

    struct Parts {
        std::vector<std::string> texts;
        std::size_t missing = 0;
    };
    std::map<std::string, Parts> parts_;  // by sender and number of the report
    std::vector<nlohmann::json> complete_;
};

}  // namespace lapwing::tool
