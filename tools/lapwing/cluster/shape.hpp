// The shape of a cluster: read from the options of `lapwing cluster`; and its hosts, read from a file by
// every program inside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

struct ClusterHost {
    std::string name;        // also the name of its port on the bridge
    std::string address;     // IPv4
    std::vector<int> cores;  // empty: all
    pid_t holder = 0;        // the process that keeps its namespaces, by its number inside the cluster
};

// A port, or the link of two hosts, that is slower than the others.
struct SlowLink {
    int host = 0;             // index
    std::optional<int> peer;  // index; none: the host's port
    std::string rate;         // as tc writes it, in each direction
    double bits = 0;          // per second
};

struct ClusterShape {
    std::vector<ClusterHost> hosts;
    ClusterHost head;
    std::string tool;         // path of this program
    std::string rate;         // as tc writes it; empty: the links are not shaped
    std::uint64_t burst = 0;  // bytes that a link passes at once after a pause
    std::vector<SlowLink> slow;
    int mtu = 0;  // bytes
    // From one host to another, in one direction.
    std::uint64_t delay = 0;      // nanoseconds
    double loss = 0;              // of all packets, 0 to 1
    std::uint64_t seed = 1;       // of the relay's losses
    bool asked_for_seed = false;  // which only the relay has everywhere
    bool netem = false;           // the kernel delays and drops; else a relay
    pid_t relay = 0;              // the relay, by its number inside the cluster

    bool impaired() const { return delay > 0 || loss > 0; }
    bool relayed() const { return impaired() && !netem; }
};

struct ClusterOptions {
    int hosts = 0;
    std::string rate = "1gbit";
    std::string slow;
    std::string burst;
    int mtu = 9000;
    std::string cores_per_host = "own";
    std::string delay;
    std::string loss;
    std::uint64_t seed = 1;
    std::string addresses = "10.77.0.0/24";
};

// Throws Error (invalid_argument) with the valid values.
ClusterShape read_shape(const ClusterOptions& options);

// Bits per second of "100mbit", "1gbit", "10MBps" as tc reads them. Throws Error (invalid_argument).
double read_rate(std::string_view written);

// The directory of files for programs of the cluster, on a tmpfs of the head and all hosts.
inline constexpr const char* cluster_directory = "/dev/shm/lapwing";
// On each host a directory of its own.
inline constexpr const char* host_temporary_directory = "/dev/shm/tmp";

// Writes the shape's file, and reads the hosts from it, the head last. read_running_hosts throws Error
// (unsupported) outside a cluster.
void write_running_shape(const ClusterShape& shape);
std::vector<ClusterHost> read_running_hosts();

// Writes a file of the cluster directory. Throws Error (system).
void write_cluster_file(const std::string& name, std::string_view content, mode_t mode = 0644);

}  // namespace lapwing::tool
