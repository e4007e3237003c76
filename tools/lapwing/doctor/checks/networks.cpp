// The networks between hosts that Lapwing can use.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>

#include "base/error.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/doctor/check.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds max_time_to_answer{8};

// By `lapwing info`, in a process of its own: a library that is broken (UCX, libfabric) may end the process.
Facts networks_facts(const MpiFamily&) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const Finished answer = run_program({self, "info", "--json"}, "", max_time_to_answer);
    // On a busy host: nothing is known then.
    if (answer.timed_out)
        throw Error(ErrorCode::system, fmt::format("no answer within {} s", max_time_to_answer.count()));
    if (answer.status > 128)
        return {
            {"wrong", fmt::format("the process that opened them ended by signal {}", answer.status - 128)}};
    // Libraries may print lines of their own.
    const std::size_t begin = answer.out.find("{\n");
    const Facts told =
        begin == std::string::npos ? Facts() : Facts::parse(answer.out.substr(begin), nullptr, false);
    if (told.is_object() && told.contains("networks")) return {{"networks", told["networks"]}};
    return {{"wrong", fmt::format("the process that opened them ended with status {}", answer.status)}};
}

std::string networks_line(const Facts& facts) {
    if (facts.contains("wrong")) return "unknown: " + facts.value("wrong", "");
    std::vector<std::string> usable;
    std::string missing;
    for (const Facts& network : facts.at("networks")) {
        const std::string name = network.value("name", "");
        if (network.value("available", false))
            usable.push_back(network.value("rdma", false) ? name + " (RDMA)" : name);
        else
            missing += "; not " + name;
    }
    return fmt::format("{}{}", fmt::join(usable, ", "), missing);
}

void judge_networks(const JobReport& job, Findings& findings) {
    const HostGroups wrong =
        hosts_by(job, "networks", [](const Facts& facts) { return facts.value("wrong", ""); });
    for (const auto& [why, hosts] : wrong)
        findings.add({Severity::hint, "host", names_of(hosts),
                      fmt::format("UCX or libfabric does not work: {}", why),
                      "run `lapwing info` on that host. MPI libraries that use the same library fail as "
                      "well, or fall back to TCP: ask the administrator who installed it"});
    if (job.several_hosts() && wrong.empty())
        judge_equal(
            hosts_by(job, "networks", networks_line),
            {Severity::hint, "host", "", "the networks that Lapwing can use",
             "`lapwing info` on that host prints the reasons. Lapwing uses a network only if all ranks "
             "have it"},
            findings);
}

}  // namespace

const Check networks_check{"networks",    "networks",     networks_facts,
                           networks_line, judge_networks, Severity::hint};

}  // namespace lapwing::tool
