// Hosts and the links between them. A message takes the links of its path one after the other. On each link
// it waits for earlier messages, then occupies the link for its bytes while its head proceeds to the next
// link (cut-through, unlimited buffers).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// A step of a path: the link, and the node at its end. Each network numbers its nodes; hosts come first.
struct Hop {
    std::uint32_t link = 0;
    std::int32_t node = 0;
};

// The time from which an interface or a link is free.
struct Occupancy {
    Time free = 0;

    // Passes a message whose first byte arrives at `first`. Returns when that byte leaves.
    Time pass(Time first, Time gap, Time wire) {
        const Time begin = std::max(first, free);
        free = begin + gap + wire;
        return begin;
    }
};

class Network {
  public:
    Network(int hosts, int ranks_per_host, Time hop)
        : hosts_(hosts), ranks_per_host_(ranks_per_host), hop_(hop) {}
    virtual ~Network() = default;

    int hosts() const { return hosts_; }
    int ranks_per_host() const { return ranks_per_host_; }
    // Ranks fill hosts in order, unless put() was called.
    int host_of(int rank) const {
        return host_of_.empty() ? rank / ranks_per_host_ : host_of_[static_cast<std::size_t>(rank)];
    }
    // Sets the host of each rank; a host must have at most ranks_per_host() ranks.
    void put(std::vector<std::int32_t> host_of) { host_of_ = std::move(host_of); }
    // Latency from link to link.
    Time hop_latency() const { return hop_; }

    virtual std::uint32_t links() const = 0;
    // Returns the next hop from `node`, which is not the host `to`. The last hop ends at the host.
    virtual Hop next(std::int32_t node, std::int32_t to) const = 0;
    // Returns a description for people: "torus of 4x4x4 hosts".
    virtual std::string what() const = 0;

  private:
    int hosts_;
    int ranks_per_host_;
    std::vector<std::int32_t> host_of_;
    Time hop_;
};

}  // namespace lapwing::simulate
