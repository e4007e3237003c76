// Reports of ranks to `lapwing doctor` on their standard output. Every launcher forwards it, also if the
// hosts cannot reach each other.
//
// A report is JSON, cut into lines of equal length, a power of two: a launcher that forwards blocks of output
// then does not split lines and does not mix lines of different ranks.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

// Writes a report to standard output. Not thread-safe.
void write_report(const nlohmann::json& report);

class ReportReader {
  public:
    // Reads a line of a job's output, which may have a prefix of the launcher. Returns whether it belongs to
    // a report.
    bool take(std::string_view line);
    // The reports that became complete since the last call.
    std::vector<nlohmann::json> take_reports();

  private:
    void take_part(const std::string& line);

    std::map<std::string, std::map<std::size_t, std::string>> parts_;  // by sender and number of the report
    std::vector<nlohmann::json> complete_;
};

}  // namespace lapwing::tool
