// Network interfaces, and which of their addresses Lapwing uses.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "lapwing/doctor/agent.hpp"
#include "lapwing/doctor/check.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::tool {
namespace {

long number_of(const std::string& interface, const char* what) {
    long value = -1;
    std::ifstream(fmt::format("/sys/class/net/{}/{}", interface, what)) >> value;
    return value;
}

// All but the loopback, also those that are down.
Facts all_interfaces() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return Facts::object();
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
    Facts found = Facts::object();
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if ((one->ifa_flags & IFF_LOOPBACK) != 0) continue;
        Facts& interface = found[one->ifa_name];
        interface["up"] = (one->ifa_flags & IFF_UP) != 0;
        interface["carrier"] = (one->ifa_flags & IFF_RUNNING) != 0;
        const int family = one->ifa_addr != nullptr ? one->ifa_addr->sa_family : AF_UNSPEC;
        if (family == AF_INET || family == AF_INET6) interface["addressed"] = true;
    }
    for (auto& [name, interface] : found.items()) {
        interface["mtu"] = number_of(name, "mtu");
        interface["mbit_per_s"] = number_of(name, "speed");
        interface["addresses"] = Facts::array();
    }
    return found;
}

Facts interfaces_facts(const MpiFamily&) {
    Facts found = all_interfaces();
    const std::vector<tcp::Interface> up = tcp::interfaces();
    for (const tcp::Interface& one : up) {
        if (found.contains(one.name))
            found[one.name]["addresses"].push_back(fmt::format("{}/{}", text(one.ip), one.ip.prefix));
    }
    Facts facts = {{"interfaces", found}};
    try {
        const tcp::Options tcp = tcp::read_options(read_settings(environ));
        facts["used"] = Facts::array();
        for (const tcp::IpAddress& used : tcp::choose(tcp, up)) {
            const auto own = std::find_if(up.begin(), up.end(), [&](const tcp::Interface& one) {
                return tcp::same_address(one.ip, used);
            });
            facts["used"].push_back({{"address", fmt::format("{}/{}", text(used), used.prefix)},
                                     {"interface", own == up.end() ? "" : own->name}});
        }
        facts["ports"] = free_ports(tcp);
    } catch (const Error& error) {
        facts["wrong"] = error.what();
    }
    return facts;
}

std::string interfaces_line(const Facts& facts) {
    std::vector<std::string> words;
    for (const auto& [name, interface] : facts.at("interfaces").items()) {
        std::vector<std::string> networks;
        for (const Facts& used : facts.value("used", Facts::array())) {
            if (used.value("interface", "") == name)
                networks.push_back(tcp::network_of(tcp::read_ip(used.value("address", "")).value()));
        }
        if (networks.empty() && (interface.value("up", false) || !interface.value("addressed", false)))
            continue;
        const long speed = interface.value("mbit_per_s", -1L);
        words.push_back(fmt::format("{}{}{}{}{}", name, networks.empty() ? "" : " ", fmt::join(networks, " "),
                                    speed > 0 ? fmt::format(" ({} Mbit/s)", speed) : "",
                                    !interface.value("up", false)        ? " down"
                                    : !interface.value("carrier", false) ? " without a carrier"
                                                                         : ""));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string state_of(const Facts& facts, const std::string& name) {
    const Facts interface = facts.at("interfaces").value(name, Facts());
    if (interface.is_null()) return "";
    if (!interface.value("up", false)) return "down";
    return interface.value("carrier", false) ? "up" : "without a carrier";
}

void judge_states(const JobReport& job, Findings& findings) {
    std::set<std::string> names;
    for (const HostReport& host : job.hosts) {
        const Facts& facts = host.of("interfaces");
        for (const Facts& used : facts.value("used", Facts::array())) {
            // The loopback is none of those that are compared.
            if (facts.at("interfaces").contains(used.value("interface", ""))) names.insert(used["interface"]);
        }
    }
    for (const std::string& name : names) {
        const HostGroups states =
            hosts_by(job, "interfaces", [&](const Facts& facts) { return state_of(facts, name); });
        const auto good =
            std::find_if(states.begin(), states.end(), [](const auto& state) { return state.first == "up"; });
        if (good == states.end()) continue;
        for (const auto& [state, hosts] : states) {
            if (state == "up") continue;
            findings.add(
                {Severity::hint, "network", names_of(hosts),
                 fmt::format("the interface {} is {}, but up on {}", name, state, names_of(good->second)),
                 state == "down" ? fmt::format("run `ip link set {} up`, or exclude the interface on all "
                                               "hosts by LAPWING_TCP_INTERFACE",
                                               name)
                                 : "check the cable and the port of the switch"});
        }
        const auto mtu = [&](const Facts& facts) {
            const Facts interface = facts.at("interfaces").value(name, Facts());
            return interface.is_null() ? "" : fmt::format("{}", interface.value("mtu", -1L));
        };
        judge_equal(hosts_by(job, "interfaces", mtu),
                    {Severity::hint, "network", "", fmt::format("the MTU of {}", name),
                     "set the same MTU on all hosts of the network: a host with a smaller MTU drops longer "
                     "packets"},
                    findings);
    }
}

void judge_interfaces(const JobReport& job, Findings& findings) {
    for (const auto& [why, hosts] :
         hosts_by(job, "interfaces", [](const Facts& facts) { return facts.value("wrong", ""); }))
        findings.add({job.several_hosts() ? Severity::problem : Severity::hint, "network", names_of(hosts),
                      why,
                      "set LAPWING_TCP_INTERFACE to interfaces that are up on every host; a network such "
                      "as 10.1.0.0/16 matches interfaces of different names"});
    judge_states(job, findings);
}

}  // namespace

const Check interfaces_check{"interfaces", "interfaces", interfaces_facts, interfaces_line, judge_interfaces};

}  // namespace lapwing::tool
