#include "lapwing/cluster/network.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "base/error.hpp"
#include "lapwing/cluster/relay.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds limit{60};

// More than any rate and delay put between two hosts.
constexpr int max_delayed_packets = 1000000;

// What waits before a shaper: as much as this link sends in that time; more is dropped, as switches do.
constexpr const char* longest_queue = "200ms";

// Unprivileged users often have no system programs on their PATH.
std::optional<std::string> find_system_program(const std::string& name) {
    if (std::optional<std::string> found = find_program(name)) return found;
    for (const char* directory : {"/usr/sbin", "/sbin"}) {
        if (std::optional<std::string> found = find_program(fmt::format("{}/{}", directory, name)))
            return found;
    }
    return std::nullopt;
}

std::string advice(const std::string& answer) {
    const auto says = [&](const char* part) { return answer.find(part) != std::string::npos; };
    if (says("qdisc kind is unknown") || says("Specified qdisc not found")) {
        return "; this kernel has no tbf: load the module (modprobe sch_tbf), or use --rate none";
    }
    if (says("Unknown device type") || says("not supported")) {
        return "; this kernel lacks virtual links: load the modules (modprobe bridge veth)";
    }
    if (says("Operation not permitted")) return "; run as root";
    return "";
}

void run_batch(const char* program, const std::string& commands) {
    const std::optional<std::string> path = find_system_program(program);
    if (!path) throw Error(ErrorCode::system, fmt::format("'{}' is gone", program));
    const Finished finished = run_program({*path, "-batch", "-"}, commands, limit);
    if (finished.status == 0 && !finished.timed_out) return;
    std::string answer = finished.err;
    while (!answer.empty() && answer.back() == '\n') answer.pop_back();
    for (char& c : answer) c = c == '\n' ? ' ' : c;
    throw Error(ErrorCode::system, fmt::format("{} refused to build the network: {}{}", program,
                                               finished.timed_out ? "no answer" : answer, advice(answer)));
}

std::string shaper(const ClusterShape& shape, const std::string& interface, const char* place = "root") {
    return fmt::format("qdisc add dev {} {} tbf rate {} burst {}b latency {}\n", interface, place, shape.rate,
                       shape.burst, longest_queue);
}

// At the bridge's end. Without a rate there, several senders together would exceed what a receiver's link
// carries.
std::string shapers_to_host(const ClusterShape& shape, const ClusterHost& host) {
    if (!shape.impaired() || !shape.netem) return shape.rate.empty() ? "" : shaper(shape, host.name);
    std::string text =
        fmt::format("qdisc add dev {} root handle 1: netem limit {}", host.name, max_delayed_packets);
    if (shape.delay > 0) text += fmt::format(" delay {}us", static_cast<double>(shape.delay) / 1000);
    if (shape.loss > 0) text += fmt::format(" loss {}%", shape.loss * 100);
    text += "\n";
    if (!shape.rate.empty()) text += shaper(shape, host.name, "parent 1:1 handle 2:");
    return text;
}

}  // namespace

void require_network_programs(const ClusterShape& shape) {
    for (const char* program : {"ip", "tc"}) {
        if (find_system_program(program) || (program[0] == 't' && shape.rate.empty())) continue;
        throw Error(ErrorCode::system,
                    fmt::format("the program '{}' is missing; install the package iproute2", program));
    }
}

bool kernel_has_netem() {
    const std::optional<std::string> path = find_system_program("tc");
    if (!path) return false;
    const auto call = [&](const char* what) {
        return run_program({*path, "qdisc", what, "dev", "lo", "root", "netem"}, "", limit).status == 0;
    };
    return call("add") && call("del");
}

void make_relay_interfaces(const ClusterShape& shape) {
    std::string commands;
    for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
        for (const std::string& interface : {relay_interface_to_bridge(host), relay_interface_to_host(host)})
            commands += fmt::format("link set {0} addrgenmode none\nlink set {0} up\n", interface);
    }
    run_batch("ip", commands);
}

void make_network(const ClusterShape& shape) {
    // The bridge has the name of the hosts' interfaces, so that one setting of a launcher fits all.
    std::string links = fmt::format(
        "link set lo up\n"
        "link add eth0 type bridge stp_state 0 mcast_snooping 0\n"
        "link set eth0 mtu {0} up\n"
        "addr add {1}/24 dev eth0\n",
        shape.mtu, shape.head.address);
    std::string shapers;
    for (const ClusterHost& host : shape.hosts) {
        if (shape.relayed()) {
            const auto number = static_cast<std::size_t>(&host - shape.hosts.data());
            links += fmt::format(
                "link add {0} mtu {1} type veth peer name {2} mtu {1} netns {3}\n"
                "link add {4} mtu {1} netns {3} type veth peer name eth0 mtu {1} netns {5}\n",
                host.name, shape.mtu, relay_interface_to_bridge(number), shape.relay,
                relay_interface_to_host(number), host.holder);
        } else {
            links += fmt::format("link add {0} mtu {1} type veth peer name eth0 mtu {1} netns {2}\n",
                                 host.name, shape.mtu, host.holder);
        }
        links += fmt::format("link set {} master eth0 up\n", host.name);
        shapers += shapers_to_host(shape, host);
    }
    run_batch("ip", links);
    if (!shapers.empty()) run_batch("tc", shapers);
}

void make_host_interface(const ClusterShape& shape, const ClusterHost& host) {
    run_batch("ip", fmt::format("link set lo up\n"
                                "addr add {}/24 dev eth0\n"
                                "link set eth0 up\n",
                                host.address));
    if (!shape.rate.empty()) run_batch("tc", shaper(shape, "eth0"));
    // A lost packet is to be one of the link's, not 64 KiB that the kernel would cut into several.
    if (shape.loss > 0) run_batch("ip", "link set eth0 gso_max_segs 1\n");
}

}  // namespace lapwing::tool
