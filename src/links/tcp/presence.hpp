// Finds out whether the process of a peer has ended, or its host is cut off, without a connection to the
// process: over libfabric, which reports neither to a rank that waits for a message, and over rxm not even to
// one that sends (it reconnects for ever); and over TCP, when a rank waits for the other to connect.
//
// Each process listens on a TCP socket and never accepts there. A rank that waits long for a peer connects to
// it: the kernels keep that connection without either process, and it breaks when the process ends or the
// network is silent.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {

// Not thread-safe. No call waits.
class Presence {
  public:
    // Throws Error (system, invalid_argument).
    explicit Presence(const Options& options);

    const Address& address() const { return own_; }
    void join(std::vector<Address> members);

    // Checks `all` peers that this rank waits for, and closes connections to others. Returns why one of them
    // is lost, and sets `lost`; empty if none is. A peer that cannot be reached, perhaps behind a firewall,
    // is not lost.
    std::string look(const std::vector<int>& all, int& lost);

  private:
    using Clock = std::chrono::steady_clock;
    struct Watch {
        std::vector<IpAddress> routes;
        std::size_t route = 0;
        Socket socket;
        bool connected = false;
        Clock::time_point refused{};  // since when connections are refused, by a host that was never reached
    };

    std::vector<int> choose(const std::vector<int>& peers);
    std::string connect(Watch& watch, const Address& peer);
    std::string ended(Watch& watch, const Address& peer, int error);
    std::string look(Watch& watch, const Address& peer);
    std::string refused(Watch& watch, const Address& peer);

    Options options_;
    Address own_{};
    std::vector<Socket> listeners_;
    std::vector<Address> members_;
    std::map<int, Watch> watches_;
    std::set<std::uint64_t> reached_;  // hosts
    unsigned looks_ = 0;
    std::size_t next_ = 0;  // of many peers, the first that is asked
};

}  // namespace lapwing::tcp
