#include "lapwing/doctor/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command_line/command_line.hpp"

namespace lapwing::tool {

bool Findings::any(Severity severity) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const Finding& one) { return one.severity == severity; });
}

std::string Findings::print(Severity severity, std::size_t width) const {
    if (!any(severity)) return "";
    std::string text = severity == Severity::problem ? "problems\n" : "hints\n";
    for (const Finding& one : all_) {
        if (one.severity != severity) continue;
        const std::string what = one.where.empty() ? one.what : fmt::format("{}: {}", one.where, one.what);
        text += fmt::format("  {}\n", wrap(what, width - 4, "\n    "));
        if (!one.advice.empty()) text += fmt::format("    -> {}\n", wrap(one.advice, width - 7, "\n       "));
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

std::span<const Check* const> host_checks() {
    static const Check* const all[] = {
#define LAPWING_CHECK(name) &name##_check,
#include "lapwing/doctor/checks/catalogue.def"
    };
    return all;
}

HostGroups group_hosts(const JobReport& job,
                       const std::function<std::vector<std::string>(const HostReport&)>& values_of) {
    HostGroups groups;
    for (const HostReport& host : job.hosts) {
        for (const std::string& value : values_of(host)) {
            if (value.empty()) continue;
            auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& one) { return one.first == value; });
            if (group == groups.end()) group = groups.insert(groups.end(), {value, {}});
            if (group->second.empty() || group->second.back() != &host) group->second.push_back(&host);
        }
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& one, const auto& other) {
        return one.second.size() > other.second.size();
    });
    return groups;
}

HostGroups hosts_by(const JobReport& job, const char* check,
                    const std::function<std::string(const Facts&)>& value) {
    return group_hosts(job, [&](const HostReport& host) -> std::vector<std::string> {
        const Facts& facts = host.of(check);
        if (facts.empty() || facts.contains("error")) return {};
        return {value(facts)};
    });
}

std::string list_names(const std::vector<std::string>& names) {
    constexpr std::size_t max_named = 6;
    const std::size_t named = std::min(names.size(), max_named);
    const std::string text =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    return names.size() > named ? fmt::format("{} and {} more", text, names.size() - named) : text;
}

std::string names_of(const HostReports& hosts) {
    std::vector<std::string> names;
    for (const HostReport* host : hosts) names.push_back(host->name);
    return list_names(names);
}

void judge_equal(const HostGroups& groups, const Finding& finding, Findings& findings, const char* text) {
    for (std::size_t i = 1; i < groups.size(); ++i) {
        Finding found = finding;
        found.where = names_of(groups[i].second);
        found.what = fmt::format(fmt::runtime(text), finding.what, groups[i].first, groups[0].first,
                                 names_of(groups[0].second));
        findings.add(std::move(found));
    }
}

std::string why_unavailable(const Facts& facts, std::string_view engine) {
    for (const Facts& one : facts.value("engines", Facts::array())) {
        if (one.value("name", "") == engine) return one.value("reason", "");
    }
    return "";
}

}  // namespace lapwing::tool
