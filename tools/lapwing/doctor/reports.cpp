#include "lapwing/doctor/reports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "links/tcp/addresses.hpp"

namespace lapwing::tool {
namespace {

constexpr std::string_view report_mark = "lapwing-doctor ";
constexpr char end_of_text = '|';
constexpr std::size_t max_lines = 4096;  // of one report

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return;  // nobody reads any more
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::string_view next_word(std::string_view& text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

bool read_count(std::string_view word, std::size_t& value) {
    return std::from_chars(word.data(), word.data() + word.size(), value).ptr == word.data() + word.size() &&
           !word.empty();
}

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
        write_all(fmt::format("{:<{}}\n", line, report_line_bytes - 1));
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
        take_part(line.substr(0, begin));
    }
    return true;
}

void ReportReader::take_part(std::string_view line) {
    const std::string sender(next_word(line));
    std::size_t place = 0;
    std::size_t lines = 0;
    const bool numbered = read_count(next_word(line), place) && read_count(next_word(line), lines);
    const std::size_t end = line.rfind(end_of_text);
    if (!numbered || place >= lines || lines > max_lines || end == std::string_view::npos) return;
    Parts& parts = parts_[sender];
    if (parts.texts.empty()) {
        parts.texts.resize(lines);
        parts.missing = lines;
    }
    if (place >= parts.texts.size() || !parts.texts[place].empty()) return;
    parts.texts[place] = line.substr(0, end);
    if (--parts.missing > 0) return;
    std::string text;
    for (const std::string& part : parts.texts) text += part;
    parts_.erase(sender);
    nlohmann::json report = nlohmann::json::parse(text, nullptr, false);
    if (report.is_object()) complete_.push_back(std::move(report));
}

std::vector<nlohmann::json> ReportReader::take_reports() {
    return std::exchange(complete_, {});
}

}  // namespace lapwing::tool
