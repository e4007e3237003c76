#include "lapwing/doctor/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace lapwing::tool {
namespace {

// Words on lines of so many columns, all but the first line with this indent.
std::string wrap(const std::string& text, std::size_t width, std::size_t first, std::size_t indent) {
    std::string result(first, ' ');
    std::size_t column = first;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (column > indent && column + 1 + word.size() > width) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > first) {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
    }
    return result + "\n";
}

}  // namespace

bool Findings::any(Severity severity) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const Finding& one) { return one.severity == severity; });
}

std::string Findings::print(Severity severity, std::size_t width) const {
    if (!any(severity)) return "";
    std::string text = severity == Severity::problem ? "problems\n" : "hints\n";
    for (const Finding& one : all_) {
        if (one.severity != severity) continue;
        text += wrap(one.where.empty() ? one.what : fmt::format("{}: {}", one.where, one.what), width, 2, 4);
        if (!one.advice.empty()) text += wrap("-> " + one.advice, width, 4, 7);
    }
    return text + "\n";
}

nlohmann::ordered_json Findings::as_json(Severity severity) const {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Finding& one : all_) {
        if (one.severity != severity) continue;
        rows.push_back(
            {{"layer", one.layer}, {"where", one.where}, {"what", one.what}, {"advice", one.advice}});
    }
    return rows;
}

}  // namespace lapwing::tool
