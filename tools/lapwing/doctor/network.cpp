#include "lapwing/doctor/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "lapwing/doctor/places.hpp"
#include "lapwing/doctor/reach_task.hpp"
#include "lapwing/doctor/reports.hpp"
#include "lapwing/launch/program.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::tool {
namespace {

using std::chrono::milliseconds;
using Json = nlohmann::json;

// What fits into one variable of the environment, with room.
constexpr std::size_t max_hosts = 1000;

ReachTask task_of(const JobReport& report, milliseconds late) {
    ReachTask task;
    task.key = tcp::random_key();
    task.late = late;
    for (const HostReport& host : report.hosts) {
        const Facts* const facts = host.find("interfaces");
        if (facts == nullptr || !facts->contains("places") || !facts->contains("ports")) continue;
        if (task.members.size() == max_hosts) break;
        ReachTask::Member& member = task.members.emplace_back();
        member.host = host.number;
        member.name = host.name;
        member.ports = facts->at("ports").get<std::vector<std::uint16_t>>();
        for (const Facts& place : facts->at("places"))
            member.places.push_back(read_place(place.value("place", "")));
    }
    return task;
}

// "node1, node2 and 7 more"
std::string list_names(const std::set<std::string>& names) {
    constexpr std::size_t max_named = 6;
    std::vector<std::string> shown;
    for (const std::string& name : names) {
        if (shown.size() < max_named) shown.push_back(name);
    }
    return fmt::format("{}{}", fmt::join(shown, ", "),
                       names.size() > max_named ? fmt::format(" and {} more", names.size() - max_named) : "");
}

class NetworkFindings {
  public:
    NetworkFindings(const JobReport& report, const ReachTask& task, const std::map<int, Json>& reports,
                    Findings& findings)
        : report_(report), task_(task), reports_(reports), findings_(findings) {}

    void add_silent_agents(const LaunchEnd& end, const std::vector<std::string>& lines) {
        std::set<std::string> silent;
        for (std::size_t i = 0; i < task_.members.size(); ++i) {
            if (!reports_.contains(static_cast<int>(i))) silent.insert(task_.members[i].name);
        }
        if (silent.empty()) return;
        findings_.problem("launcher", list_names(silent),
                          fmt::format("no answer to the second launch, which {}{}",
                                      end.timed_out ? "was over its time limit"
                                                    : fmt::format("ended with status {}", end.status),
                                      last_words(lines)),
                          "the first launch worked: try again, and look at the launcher's own messages");
    }

    void add_failures() {
        collect();
        for (const auto& [kind, failures] : failures_) {
            std::vector<Bundle> bundles = by_end(failures, &Failure::to, &Failure::from);
            const std::vector<Bundle> other = by_end(failures, &Failure::from, &Failure::to);
            // A host that reaches nobody is one finding, and so is one that nobody reaches.
            if (other.size() < bundles.size()) bundles = other;
            constexpr std::size_t max_told = 4;
            if (bundles.size() <= max_told) {
                for (const Bundle& bundle : bundles) tell(kind, bundle.where(), bundle);
                continue;
            }
            Bundle all;
            for (const Bundle& bundle : bundles) {
                all.places.insert(bundle.places.begin(), bundle.places.end());
                all.ports.insert(bundle.ports.begin(), bundle.ports.end());
            }
            tell(kind,
                 fmt::format("{} ways from host to host, such as {} to {}", pairs_of(failures).size(),
                             failures.front().from, failures.front().to),
                 all);
        }
    }

    void add_clocks() {
        constexpr double worth_a_hint_us = 1e6;
        std::map<int, double> ahead = {{0, 0.0}};
        for (std::size_t round = 0; round < reports_.size(); ++round) {
            for (const auto& [from, told] : reports_) {
                for (const Json& one : told.value("measured", Json::array())) {
                    const int to = one.value("to", 0);
                    const double offset = one.value("clock_us", 0.0);
                    if (ahead.contains(from)) {
                        ahead.emplace(to, ahead[from] + offset);
                    } else if (ahead.contains(to)) {
                        ahead.emplace(from, ahead[to] - offset);
                    }
                }
            }
        }
        for (const auto& [host, offset] : ahead) {
            if (std::abs(offset) < worth_a_hint_us) continue;
            findings_.hint("host", name(host),
                           fmt::format("its clock is {:.1f} s {} that of {}", std::abs(offset) * 1e-6,
                                       offset > 0 ? "ahead of" : "behind", name(0)),
                           "set the time by NTP (chrony): Lapwing does without, times of files do not");
        }
    }

  private:
    struct Failure {
        std::string from;
        std::string to;
        std::string place;  // with its interface
        int port = 0;
    };
    // What is told as one: what else of the host it reached, why not this, whether nothing came back, and in
    // which network.
    struct Kind {
        std::string reached;
        std::string why;
        bool silent = false;
        std::string network;
        auto operator<=>(const Kind&) const = default;
    };
    // The same hosts do not reach the same others.
    struct Bundle {
        std::set<std::string> from;
        std::set<std::string> to;
        std::set<std::string> places;
        std::set<int> ports;

        std::string where() const { return fmt::format("{} to {}", list_names(from), list_names(to)); }
    };

    static std::set<std::pair<std::string, std::string>> pairs_of(const std::vector<Failure>& failures) {
        std::set<std::pair<std::string, std::string>> pairs;
        for (const Failure& one : failures) pairs.emplace(one.from, one.to);
        return pairs;
    }

    // Failures with one end in common, and those of several such ends whose other ends are the same.
    static std::vector<Bundle> by_end(const std::vector<Failure>& failures, std::string Failure::*end,
                                      std::string Failure::*others) {
        std::map<std::string, std::set<std::string>> others_of;
        for (const Failure& one : failures) others_of[one.*end].insert(one.*others);
        std::map<std::set<std::string>, Bundle> bundles;
        for (const Failure& one : failures) {
            Bundle& bundle = bundles[others_of[one.*end]];
            bundle.from.insert(one.from);
            bundle.to.insert(one.to);
            bundle.places.insert(one.place);
            bundle.ports.insert(one.port);
        }
        std::vector<Bundle> result;
        for (auto& [key, bundle] : bundles) result.push_back(std::move(bundle));
        return result;
    }

    const std::string& name(int member) const { return task_.members[static_cast<std::size_t>(member)].name; }

    std::string interface_of(int member, const std::string& place) const {
        for (const HostReport& host : report_.hosts) {
            const Facts* const facts = host.find("interfaces");
            if (host.number != task_.members[static_cast<std::size_t>(member)].host || facts == nullptr)
                continue;
            for (const Facts& one : facts->value("places", Facts::array())) {
                if (one.value("place", "") == place) return one.value("interface", "");
            }
        }
        return "";
    }

    void collect() {
        for (const auto& [from, told] : reports_) {
            for (const Json& failure : told.value("failures", Json::array())) {
                const int to = failure.value("to", -1);
                // An agent that did not start is another finding.
                if (to < 0 || !reports_.contains(to)) continue;
                const std::string place = failure.value("place", "");
                const Kind kind{failure.value("reached", ""), failure.value("why", ""),
                                failure.value("silent", false), network_of(read_place(place))};
                failures_[kind].push_back(
                    {name(from), name(to),
                     fmt::format("{} ({})", tcp::text(read_place(place)), interface_of(to, place)),
                     failure.value("port", 0)});
            }
        }
    }

    std::string advice_for(bool silent) const {
        const std::string range = port_range();
        const std::string open = fmt::format(
            "let the hosts of a job open TCP connections to each other, on the ports that the system chooses "
            "({}: sysctl net.ipv4.ip_local_port_range)",
            range.empty() ? "1024-65535" : range);
        return silent
                   ? fmt::format(
                         "{}; a firewall that drops packets (iptables, nft, firewalld, security groups) "
                         "looks like this, and so does a route that leads elsewhere",
                         open)
                   : fmt::format("{}; a firewall refuses this, or the route (`ip route get ADDRESS`)", open);
    }

    void tell(const Kind& kind, const std::string& where, const Bundle& bundle) {
        std::vector<std::string> places(bundle.places.begin(), bundle.places.end());
        constexpr std::size_t max_places = 4;
        if (places.size() > max_places) {
            places.resize(max_places);
            places.emplace_back("...");
        }
        if (kind.reached == "other port") {
            findings_.problem("network", where,
                              fmt::format("{} at {}, port{} {}; other ports there answer", kind.why,
                                          fmt::join(places, ", "), bundle.ports.size() == 1 ? "" : "s",
                                          fmt::join(bundle.ports, ", ")),
                              advice_for(kind.silent));
        } else if (kind.reached == "other address") {
            findings_.hint(
                "network", where,
                fmt::format("{} at {}; another address there answers", kind.why, fmt::join(places, ", ")),
                fmt::format("{}name the network that works in LAPWING_TCP_INTERFACE",
                            kind.silent ? "connections may try this one first, for 2 s each: " : ""));
        } else {
            findings_.problem("network", where,
                              fmt::format("not reached: {} at {}", kind.why, fmt::join(places, ", ")),
                              advice_for(kind.silent));
        }
    }

    const JobReport& report_;
    const ReachTask& task_;
    const std::map<int, Json>& reports_;
    Findings& findings_;
    std::map<Kind, std::vector<Failure>> failures_;
};

std::vector<NetworkFigures> figures_of(const ReachTask& task, const JobReport& report,
                                       const std::map<int, Json>& reports) {
    std::vector<NetworkFigures> networks;
    for (const auto& [from, told] : reports) {
        for (const Json& one : told.value("measured", Json::array())) {
            const std::string written = one.value("place", "");
            const std::string network = network_of(read_place(written));
            auto found = std::find_if(networks.begin(), networks.end(), [&](const NetworkFigures& figures) {
                return figures.network == network;
            });
            if (found == networks.end()) {
                found = networks.insert(networks.end(), NetworkFigures{network, "", 0, {}, {}});
                const auto to = static_cast<std::size_t>(one.value("to", 0));
                for (const HostReport& host : report.hosts) {
                    if (host.number != task.members[to].host) continue;
                    for (const Facts& place : host.facts.at("interfaces").at("places")) {
                        if (place.value("place", "") == written)
                            found->interface = place.value("interface", "");
                    }
                }
            }
            ++found->pairs;
            found->round_trips_us.push_back(one.value("round_trip_us", 0.0));
            found->mbit_per_s.push_back(one.value("sends_mbit_per_s", 0.0));
            found->mbit_per_s.push_back(one.value("receives_mbit_per_s", 0.0));
        }
    }
    for (NetworkFigures& network : networks) {
        std::sort(network.round_trips_us.begin(), network.round_trips_us.end());
        std::sort(network.mbit_per_s.begin(), network.mbit_per_s.end());
    }
    return networks;
}

}  // namespace

std::vector<NetworkFigures> examine_network(const JobToExamine& job, const JobReport& report,
                                            milliseconds limit, milliseconds late, Findings& findings,
                                            Phase& phase) {
    const ReachTask task = task_of(report, late);
    if (task.members.size() < 2) {
        phase.words = "no two hosts have addresses for connections";
        return {};
    }
    Launch launch = agent_launch(job, "reach", limit.count() / 1000 + 2);
    pass_unseen(launch, job.starter, reach_variable, task.write());
    ReportReader reader;
    std::vector<std::string> others;
    std::map<int, Json> reports;
    const LaunchEnd end =
        run_with_limits(launch, Streams::both, {.total = limit, .grace = {}}, [&](const std::string& line) {
            if (!reader.take(line)) others.push_back(line);
            for (const Json& told : reader.take_reports()) {
                if (told.value("kind", "") != "reach") continue;
                if (told.contains("wrong")) {
                    findings.problem(
                        "network", told.value("name", ""), told.value("wrong", ""),
                        "try again; the ports that an agent listens on may just have been taken");
                }
                if (told.contains("self")) {
                    Json& known = reports[told.value("self", 0)];
                    if (known.is_null()) known = Json::object();
                    known.update(told);
                }
            }
        });
    phase.seconds = static_cast<double>(end.time.count()) * 1e-3;
    NetworkFindings network(report, task, reports, findings);
    network.add_silent_agents(end, others);
    network.add_failures();
    network.add_clocks();
    std::size_t reached = 0;
    std::size_t tried = 0;
    for (const auto& [from, told] : reports) {
        const std::set<int> found = told.value("reached", std::set<int>());
        std::set<int> all = found;
        for (const Json& failure : told.value("failures", Json::array())) all.insert(failure.value("to", 0));
        reached += found.size();
        tried += all.size();
    }
    phase.works = reached == tried && reports.size() == task.members.size();
    phase.words = fmt::format("{} of {} ways from host to host lead there", reached, tried);
    return figures_of(task, report, reports);
}

}  // namespace lapwing::tool
