// Delay and loss of links by a process of the cluster, where the kernel has no netem.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Each link has two interfaces in the relay's network namespace: one to the bridge, one to the host. The
// links are numbered as the hosts, from 0.
std::string relay_interface_to_bridge(std::size_t link);
std::string relay_interface_to_host(std::size_t link);

// For each link two 64-bit numbers: packets for its host, and how many of them were lost.
inline constexpr const char* relay_counts = "relay.counts";

// The relay's sockets. Throws Error (system).
class Relay {
  public:
    explicit Relay(const ClusterShape& shape);
    // Forwards packets: from hosts at once, to hosts after the delay and with the loss. Never returns.
    [[noreturn]] void run();

  private:
    struct Link {
        int bridge;
        int host;
        std::uint64_t random;  // state of the generator, which draws once for each packet
    };
    struct Count {
        std::uint64_t packets;
        std::uint64_t lost;
    };

    void from_bridge(std::size_t link);
    void from_host(std::size_t link);
    bool loses(std::size_t link);

    class Batch;
    struct Held;
    struct Queue;
    std::vector<Link> links_;
    Count* counts_ = nullptr;
    Queue* queue_ = nullptr;
    std::uint64_t delay_ = 0;  // nanoseconds
    double loss_ = 0;
    int events_ = -1;
};

}  // namespace lapwing::tool
