#include "lapwing/cluster/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.hpp"
#include "lapwing/cluster/relay.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds program_limit{60};

constexpr const char* host_interface = "eth0";
// The bridge has the name of the hosts' interfaces, so that one setting of a launcher fits all.
constexpr const char* head_bridge = host_interface;

// More than any rate and delay put between two hosts.
constexpr int max_delayed_packets = 1000000;

// What waits before a shaper: as much as this link sends in that time; more is dropped, as switches do.
constexpr const char* longest_queue = "200ms";

// Unprivileged users often have no system programs on their PATH.
std::optional<std::string> find_system_program(const std::string& name) {
    for (const std::string& path : {name, "/usr/sbin/" + name, "/sbin/" + name}) {
        if (std::optional<std::string> found = find_program(path)) return found;
    }
    return std::nullopt;
}

std::string advice(const std::string& answer) {
    const auto says = [&](const char* part) { return answer.find(part) != std::string::npos; };
    if (says("qdisc kind is unknown") || says("Specified qdisc not found")) {
        return "; this kernel has no tbf: load the module (modprobe sch_tbf), or use --rate none";
    }
    if (says("Unknown filter") || says("Cannot find specified filter"))
        return "; --slow needs cls_u32: load the module (modprobe cls_u32)";
    if (says("Unknown device type") || says("not supported")) {
        return "; this kernel lacks virtual links: load the modules (modprobe bridge veth)";
    }
    if (says("Operation not permitted")) return "; run as root";
    return "";
}

void run_batch(const char* program, const std::string& commands) {
    const std::optional<std::string> path = find_system_program(program);
    if (!path) throw Error(ErrorCode::system, fmt::format("the program '{}' is missing", program));
    const Finished finished = run_program({*path, "-batch", "-"}, commands, program_limit);
    if (finished.status == 0 && !finished.timed_out) return;
    std::string answer = finished.err;
    while (!answer.empty() && answer.back() == '\n') answer.pop_back();
    for (char& c : answer) c = c == '\n' ? ' ' : c;
    throw Error(ErrorCode::system, fmt::format("{} cannot build the network: {}{}", program,
                                               finished.timed_out ? "no answer" : answer, advice(answer)));
}

// A slow link's bytes of credit: one packet, because an idle link passes its credit at once. The kernel cuts
// longer packets, which costs little at a low rate.
std::uint64_t slow_burst(const ClusterShape& shape) {
    return std::min<std::uint64_t>(shape.burst, static_cast<std::uint64_t>(shape.mtu) + 18);
}

std::string shaper(const ClusterShape& shape, const ClusterHost& host, const std::string& interface,
                   const char* place = "root") {
    const SlowLink* slow = nullptr;
    for (const SlowLink& one : shape.slow)
        if (!one.peer && shape.hosts[static_cast<std::size_t>(one.host)].name == host.name) slow = &one;
    return fmt::format("qdisc add dev {} {} tbf rate {} burst {}b latency {}\n", interface, place,
                       slow != nullptr ? slow->rate : shape.rate,
                       slow != nullptr ? slow_burst(shape) : shape.burst, longest_queue);
}

// At the host's end, in place of its shaper, if links to some peers are slower than the port: a class of the
// port for each of them, and one for all others. htb passes a long packet whole; tbf below it cuts the
// packet.
std::string shapers_to_peers(const ClusterShape& shape, const ClusterHost& host) {
    std::string classes;
    double others = read_rate(shape.rate);
    int number = 2;
    for (const SlowLink& one : shape.slow) {
        if (!one.peer) continue;
        const ClusterHost& first = shape.hosts[static_cast<std::size_t>(one.host)];
        const ClusterHost& second = shape.hosts[static_cast<std::size_t>(*one.peer)];
        if (first.name != host.name && second.name != host.name) continue;
        const ClusterHost& peer = first.name == host.name ? second : first;
        classes += fmt::format(
            "class add dev {0} parent 1:ffff classid 1:{1:x} htb rate {2} ceil {2} burst {3}b cburst {3}b "
            "quantum {4}\n"
            "qdisc add dev {0} parent 1:{1:x} tbf rate {2} burst {3}b latency {6}\n"
            "filter add dev {0} parent 1: protocol ip u32 match ip dst {5}/32 flowid 1:{1:x}\n",
            host_interface, number++, one.rate, slow_burst(shape), shape.mtu + 18, peer.address,
            longest_queue);
        others -= one.bits;
    }
    if (classes.empty()) return shaper(shape, host, host_interface);
    return fmt::format(
               "qdisc add dev {0} root handle 1: htb default 1\n"
               "class add dev {0} parent 1: classid 1:ffff htb rate {1} burst {2}b cburst {2}b quantum {4}\n"
               "class add dev {0} parent 1:ffff classid 1:1 htb rate {3:.0f}bit ceil {1} burst {2}b cburst "
               "{2}b quantum "
               "{4}\n",
               host_interface, shape.rate, shape.burst, std::max(others, read_rate(shape.rate) / 10),
               shape.mtu + 18) +
           classes;
}

// At the bridge's end. Without a rate there, several senders together would exceed what a receiver's link
// carries.
std::string shapers_to_host(const ClusterShape& shape, const ClusterHost& host) {
    if (!shape.impaired() || !shape.netem) return shape.rate.empty() ? "" : shaper(shape, host, host.name);
    std::string text =
        fmt::format("qdisc add dev {} root handle 1: netem limit {}", host.name, max_delayed_packets);
    if (shape.delay > 0) text += fmt::format(" delay {}us", static_cast<double>(shape.delay) / 1000);
    if (shape.loss > 0) text += fmt::format(" loss {}%", shape.loss * 100);
    text += "\n";
    if (!shape.rate.empty()) text += shaper(shape, host, host.name, "parent 1:1 handle 2:");
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
        return run_program({*path, "qdisc", what, "dev", "lo", "root", "netem"}, "", program_limit).status ==
               0;
    };
    return call("add") && call("del");
}

void make_relay_interfaces(const ClusterShape& shape) {
    std::string commands;
    for (std::size_t link = 0; link < shape.hosts.size(); ++link) {
        for (const std::string& interface : {relay_interface_to_bridge(link), relay_interface_to_host(link)})
            commands += fmt::format("link set {0} addrgenmode none\nlink set {0} up\n", interface);
    }
    run_batch("ip", commands);
}

void make_network(const ClusterShape& shape) {
    std::string links = fmt::format(
        "link set lo up\n"
        "link add {0} type bridge stp_state 0 mcast_snooping 0\n"
        "link set {0} mtu {1} up\n"
        "addr add {2}/24 dev {0}\n",
        head_bridge, shape.mtu, shape.head.address);
    std::string shapers;
    for (std::size_t i = 0; i < shape.hosts.size(); ++i) {
        const ClusterHost& host = shape.hosts[i];
        if (shape.relayed()) {
            links += fmt::format(
                "link add {0} mtu {1} type veth peer name {2} mtu {1} netns {3}\n"
                "link add {4} mtu {1} netns {3} type veth peer name {6} mtu {1} netns {5}\n",
                host.name, shape.mtu, relay_interface_to_bridge(i), shape.relay, relay_interface_to_host(i),
                host.holder, host_interface);
        } else {
            links += fmt::format("link add {0} mtu {1} type veth peer name {3} mtu {1} netns {2}\n",
                                 host.name, shape.mtu, host.holder, host_interface);
        }
        links += fmt::format("link set {} master {} up\n", host.name, head_bridge);
        shapers += shapers_to_host(shape, host);
    }
    run_batch("ip", links);
    if (!shapers.empty()) run_batch("tc", shapers);
}

void make_host_interface(const ClusterShape& shape, const ClusterHost& host) {
    std::string links = fmt::format("link set lo up\naddr add {0}/24 dev {1}\nlink set {1} up\n",
                                    host.address, host_interface);
    // A lost packet is to be one of the link's, not 64 KiB that the kernel would cut into several.
    if (shape.loss > 0) links += fmt::format("link set {} gso_max_segs 1\n", host_interface);
    run_batch("ip", links);
    if (!shape.rate.empty()) run_batch("tc", shapers_to_peers(shape, host));
}

}  // namespace lapwing::tool
