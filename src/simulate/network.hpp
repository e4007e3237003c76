// Hosts and the links between them. A message takes the links of its path one after the other; on each it
// waits for those that came before it, then keeps it busy for its bytes while its head goes on to the next
// link (cut-through, buffers without limit).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// A step of a path: the link, and where the message is behind it. Places are numbers that the network gives a
// meaning to; hosts are the first of them.
struct Hop {
    std::uint32_t link = 0;
    std::int32_t place = 0;
    std::int32_t via = -1;  // to go there first; -1: straight on
};

// When the first and the last byte of a message are behind an interface or a link.
struct Passage {
    Time first = 0;
    Time last = 0;
};

// From when on an interface or a link is free.
struct Occupancy {
    Time free = 0;

    // The first byte of a message comes at `first`, the last no earlier than `last`. `burst`: what the link
    // has saved after a pause, at most.
    Passage pass(Time first, Time last, Time gap, Time wire, Time burst) {
        const Time begin = std::max(first, free);
        free = std::max(first - burst, free) + gap + wire;
        return {begin, burst == 0 ? begin + wire : std::max({begin, last, free})};
    }
};

class Network {
  public:
    Network(int hosts, int ranks_per_host, Time hop)
        : hosts_(hosts), ranks_per_host_(ranks_per_host), hop_(hop) {}
    virtual ~Network() = default;

    int hosts() const { return hosts_; }
    int ranks_per_host() const { return ranks_per_host_; }
    // In order, unless they were put elsewhere.
    int host_of(int rank) const {
        return host_of_.empty() ? rank / ranks_per_host_ : host_of_[static_cast<std::size_t>(rank)];
    }
    // The host of each rank; of no host more ranks than it has room for.
    void put(std::vector<std::int32_t> host_of) { host_of_ = std::move(host_of); }
    // From link to link.
    Time hop_latency() const { return hop_; }

    virtual std::uint32_t links() const = 0;
    // A place to go to first, for messages from one host to another; -1: none.
    virtual std::int32_t via(std::int32_t /*from*/, std::int32_t /*to*/, std::uint32_t /*message*/) const {
        return -1;
    }
    // From a place that is not the host `to`. Ends at the host.
    virtual Hop next(std::int32_t place, std::int32_t to, std::int32_t via) const = 0;
    // "torus of 4x4x4 hosts", for people.
    virtual std::string what() const = 0;

  private:
    int hosts_;
    int ranks_per_host_;
    std::vector<std::int32_t> host_of_;
    Time hop_;
};

}  // namespace lapwing::simulate
