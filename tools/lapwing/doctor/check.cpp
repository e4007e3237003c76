#include "lapwing/doctor/check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lapwing::tool {

#define LAPWING_CHECK(name) extern const Check name##_check;
#include "lapwing/doctor/checks/catalogue.def"

std::span<const Check* const> host_checks() {
    static const Check* const all[] = {
#define LAPWING_CHECK(name) &name##_check,
#include "lapwing/doctor/checks/catalogue.def"
    };
    return all;
}

std::vector<std::pair<std::string, HostReports>> hosts_by(
    const JobReport& job, const char* check, const std::function<std::string(const Facts&)>& value) {
    std::vector<std::pair<std::string, HostReports>> groups;
    for (const HostReport& host : job.hosts) {
        const Facts* const facts = host.find(check);
        if (facts == nullptr || facts->contains("error")) continue;
        const std::string own = value(*facts);
        const auto group =
            std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == own; });
        if (group == groups.end()) {
            groups.push_back({own, {&host}});
        } else {
            group->second.push_back(&host);
        }
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& one, const auto& other) {
        return one.second.size() > other.second.size();
    });
    return groups;
}

std::string names_of(const HostReports& hosts) {
    constexpr std::size_t max_named = 6;
    std::string names;
    for (std::size_t i = 0; i < hosts.size() && i < max_named; ++i)
        names += fmt::format("{}{}", i == 0 ? "" : ", ", hosts[i]->name);
    if (hosts.size() > max_named) names += fmt::format(" and {} more", hosts.size() - max_named);
    return names;
}

void judge_equal(const JobReport& job, const char* check,
                 const std::function<std::string(const Facts&)>& value, Severity severity, const char* layer,
                 const std::string& what, const std::string& advice, Findings& findings) {
    const auto groups = hosts_by(job, check, value);
    for (std::size_t i = 1; i < groups.size(); ++i) {
        findings.add(severity, layer, names_of(groups[i].second),
                     fmt::format("{} is {}, but {} on {}", what, groups[i].first, groups[0].first,
                                 names_of(groups[0].second)),
                     advice);
    }
}

}  // namespace lapwing::tool
