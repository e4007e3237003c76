#include "lapwing/doctor/reports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <utility>

#include "links/tcp/addresses.hpp"

namespace lapwing::tool {
namespace {

constexpr std::string_view report_mark = "lapwing-doctor ";
constexpr char end_of_text = '|';
constexpr std::size_t report_line_bytes = 512;
constexpr std::size_t max_lines = 4096;  // of one report

}  // namespace

void write_report(const nlohmann::json& report) {
    static int number = 0;
    const std::string text = report.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    const std::string head =
        fmt::format("{}{:x}-{}-{} ", report_mark, tcp::host_number(), getpid(), ++number);
    constexpr std::size_t max_of_numbers = 12;  // "1000 1024 " and the end of the text
    const std::size_t room = report_line_bytes - 1 - head.size() - max_of_numbers;
    const std::size_t lines = (text.size() + room - 1) / room;
    for (std::size_t i = 0; i < lines; ++i) {
        const std::string line =
            fmt::format("{}{} {} {}{}", head, i, lines, text.substr(i * room, room), end_of_text);
        fmt::print("{:<{}}\n", line, report_line_bytes - 1);
        std::fflush(stdout);  // a write for each line
    }
}

// A terminal that a launcher puts between sends the end of a line apart, so that lines of two ranks may stand
// in one.
bool ReportReader::take(std::string_view line) {
    std::size_t begin = line.find(report_mark);
    if (begin == std::string_view::npos) return false;
    while (begin != std::string_view::npos) {
        line.remove_prefix(begin + report_mark.size());
        begin = line.find(report_mark);
        take_part(std::string(line.substr(0, begin)));
    }
    return true;
}

void ReportReader::take_part(const std::string& line) {
    std::istringstream words(line);
    std::string sender;
    std::size_t place = 0;
    std::size_t lines = 0;
    std::string part;
    words >> sender >> place >> lines;
    words.get();
    std::getline(words, part);
    const std::size_t end = part.rfind(end_of_text);
    if (!words || place >= lines || lines > max_lines || end == std::string::npos) return;
    auto& parts = parts_[sender];
    parts.emplace(place, part.substr(0, end));
    if (parts.size() < lines) return;
    std::string text;
    for (const auto& [number, one] : parts) text += one;
    parts_.erase(sender);
    nlohmann::json report = nlohmann::json::parse(text, nullptr, false);
    if (report.is_object()) complete_.push_back(std::move(report));
}

std::vector<nlohmann::json> ReportReader::take_reports() {
    return std::exchange(complete_, {});
}

}  // namespace lapwing::tool
