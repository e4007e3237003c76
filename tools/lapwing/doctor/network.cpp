#include "lapwing/doctor/launches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <random>
#include <set>

#include "lapwing/doctor/agent.hpp"
#include "lapwing/doctor/reports.hpp"
#include "lapwing/launch/program.hpp"

namespace lapwing::tool {
namespace {

using std::chrono::milliseconds;
using Json = nlohmann::json;
using Names = std::set<std::string>;

// What fits into one variable of the environment, with room.
constexpr std::size_t max_members = 1000;
// For the launcher to end by itself, after all agents have reported.
constexpr milliseconds time_to_end{2000};

std::string list(const Names& names) {
    return list_names({names.begin(), names.end()});
}

// The hosts that have addresses for connections.
HostReports members_of(const JobReport& report) {
    HostReports members;
    for (const HostReport& host : report.hosts) {
        if (host.of("interfaces").contains("ports") && members.size() < max_members) members.push_back(&host);
    }
    return members;
}

std::string task_for(const HostReports& members, milliseconds late) {
    std::random_device random;
    Json task = {{"run", std::uint64_t{random()} << 32 | random()}, {"late", late.count()}};
    for (const HostReport* host : members) {
        const Facts& facts = host->of("interfaces");
        Json addresses = Json::array();
        for (const Facts& used : facts.at("used")) addresses.push_back(used.at("address"));
        task["members"].push_back({{"host", host->number},
                                   {"name", host->name},
                                   {"ports", facts.at("ports")},
                                   {"addresses", addresses}});
    }
    return task.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// "10.77.0.2 (eth0)"
std::string describe(const HostReport& host, const std::string& address) {
    std::string interface;
    for (const Facts& used : host.of("interfaces").at("used")) {
        if (used.at("address") == address) interface = used.at("interface");
    }
    return fmt::format("{} ({})", address.substr(0, address.find('/')), interface);
}

// What a host did not reach, for one reason.
struct Unreached {
    Names hosts;
    Names addresses;
    std::set<int> ports;
    auto operator<=>(const Unreached&) const = default;
};

void judge(const std::string& why, const std::string& elsewhere, const std::string& where,
           const Unreached& unreached, Findings& findings) {
    const std::string what = fmt::format("{} at {}", why, list(unreached.addresses));
    if (elsewhere == "address") {
        findings.add(
            {Severity::hint, "network", where, what + "; another address of that host answers",
             "set LAPWING_TCP_INTERFACE to the network that works: otherwise a connection may first try "
             "this address for up to 2 s"});
        return;
    }
    findings.add(
        {Severity::problem, "network", where,
         elsewhere.empty()
             ? "unreachable: " + what
             : fmt::format("{}, port{} {}; other ports of that host answer", what,
                           unreached.ports.size() == 1 ? "" : "s", fmt::join(unreached.ports, ", ")),
         fmt::format(
             "let the hosts of a job open TCP connections to each other, on the ports that the system "
             "chooses ({}: sysctl net.ipv4.ip_local_port_range). A firewall (iptables, nft, firewalld, "
             "security groups) or a route (`ip route get ADDRESS`) may block them",
             port_range())});
}

void judge_failures(const HostReports& members, const std::map<std::size_t, Json>& reports,
                    Findings& findings) {
    // By reason and by what else answers, then by the host that tried.
    std::map<std::pair<std::string, std::string>, std::map<std::string, Unreached>> all;
    for (const auto& [from, told] : reports) {
        for (const Json& failure : told.value("failures", Json::array())) {
            const auto to = failure.value("to", std::size_t{0});
            // An agent that did not start is another finding.
            if (!reports.contains(to)) continue;
            if (reports.at(to).value("taken", std::set<int>{}).contains(failure.value("port", 0))) continue;
            Unreached& unreached =
                all[{failure.value("why", ""), failure.value("elsewhere", "")}][members[from]->name];
            unreached.hosts.insert(members[to]->name);
            unreached.addresses.insert(describe(*members[to], failure.value("address", "")));
            unreached.ports.insert(failure.value("port", 0));
        }
    }
    for (const auto& [kind, by_host] : all) {
        // Hosts that do not reach the same others are one finding.
        std::map<Unreached, Names> bundles;
        for (const auto& [from, unreached] : by_host) bundles[unreached].insert(from);
        constexpr std::size_t max_told = 4;
        std::size_t told = 0;
        for (const auto& [unreached, from] : bundles) {
            std::string where = fmt::format("{} to {}", list(from), list(unreached.hosts));
            if (++told == max_told && bundles.size() > max_told)
                where += fmt::format(", and {} more such groups of hosts", bundles.size() - max_told);
            judge(kind.first, kind.second, where, unreached, findings);
            if (told == max_told) break;
        }
    }
}

}  // namespace

Phase examine_network(const JobToExamine& job, const JobReport& report, milliseconds limit, milliseconds late,
                      Findings& findings) {
    Phase phase;
    const HostReports members = members_of(report);
    if (members.size() < 2) {
        phase.words = "no two hosts have usable addresses";
        return phase;
    }
    Launch launch = agent_launch(job, "reach", limit.count() / 1000 + 2);
    pass_unseen(launch, job.starter, reach_variable, task_for(members, late));
    ReportReader reader;
    std::vector<std::string> others;
    std::map<std::size_t, Json> reports;  // by member
    const auto take = [&](const std::string& line) {
        if (!reader.take(line)) others.push_back(line);
        for (const Json& told : reader.take_reports()) {
            if (told.value("kind", "") != "reach") continue;
            if (told.contains("wrong"))
                findings.add({Severity::problem, "network", told.value("name", ""), told.value("wrong", ""),
                              "try again; other programs may have taken the ports of a test process"});
            const auto self = told.value("self", members.size());
            if (self < members.size()) reports[self] = told;
        }
    };
    const LaunchEnd end = run_with_limits(launch, Streams::both, {limit, time_to_end}, take,
                                          [&] { return reports.size() == members.size(); });
    Names silent;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!reports.contains(i)) silent.insert(members[i]->name);
    }
    if (!silent.empty())
        findings.add({Severity::problem, "launcher", list(silent),
                      fmt::format("no answer to the second launch, which {}{}",
                                  end.timed_out ? "exceeded its time limit"
                                                : fmt::format("ended with status {}", end.status),
                                  last_words(others)),
                      "the first launch worked: try again, and read the launcher's own messages"});
    judge_failures(members, reports, findings);
    std::size_t tried = 0;
    std::size_t reached = 0;
    for (const auto& [from, told] : reports) {
        tried += told.value("tried", Json::array()).size();
        reached += told.value("reached", Json::array()).size();
    }
    phase.seconds = static_cast<double>(end.time.count()) * 1e-3;
    phase.works = reached == tried && silent.empty();
    phase.words = fmt::format("{} of {} host-to-host paths reachable", reached, tried);
    return phase;
}

}  // namespace lapwing::tool
