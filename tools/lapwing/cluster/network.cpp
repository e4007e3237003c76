#include "lapwing/cluster/network.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "base/error.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds limit{60};

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

std::string shaper(const ClusterShape& shape, const std::string& interface) {
    return fmt::format("qdisc add dev {} root tbf rate {} burst {}b latency {}\n", interface, shape.rate,
                       shape.burst, longest_queue);
}

}  // namespace

void require_network_programs(const ClusterShape& shape) {
    for (const char* program : {"ip", "tc"}) {
        if (find_system_program(program) || (program[0] == 't' && shape.rate.empty())) continue;
        throw Error(ErrorCode::system,
                    fmt::format("the program '{}' is missing; install the package iproute2", program));
    }
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
        links += fmt::format(
            "link add {0} mtu {1} type veth peer name eth0 mtu {1} netns {2}\n"
            "link set {0} master eth0 up\n",
            host.name, shape.mtu, host.holder);
        // Without it, several senders together would exceed what a receiver's link carries.
        if (!shape.rate.empty()) shapers += shaper(shape, host.name);
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
}

}  // namespace lapwing::tool
