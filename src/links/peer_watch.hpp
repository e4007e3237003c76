// Finds peers whose process has ended, or whose host is cut off, although the network does not report it:
// over UCX and libfabric to a rank that only receives, over libfabric's rxm not even to one that sends (it
// reconnects for ever), and over TCP while a rank waits for the peer to connect.
//
// The kernel of the peer's host answers. Each process listens on a TCP socket and never accepts there. A rank
// that waits long for a peer connects to that socket: the kernels keep the connection without either process,
// and it breaks when the process ends or the network is silent.
//
// A peer that is only silent is not lost: watch/job_watch.hpp reports it, and ends the job in the end.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing {

// Not thread-safe. No call waits.
class PeerWatch {
  public:
    // Time between two questions to kernels, while messages are in flight.
    static constexpr auto interval = std::chrono::milliseconds(200);

    // `internet`: how kernels are asked; null: they are not asked. Throws Error (system, invalid_argument).
    explicit PeerWatch(const tcp::Options* internet = nullptr);

    // What other ranks need to ask this rank's kernel.
    const tcp::Address& address() const { return own_; }
    // `addresses` of all ranks of the job; ignored if kernels are not asked.
    void join(std::size_t ranks, std::vector<tcp::Address> addresses = {});

    // A message to or from the peer has been started; it has completed or failed.
    void started(int peer) {
        ++waiting_;
        ++of(peer).waiting;
    }
    void ended(int peer) {
        --waiting_;
        --of(peer).waiting;
        of(peer).completed = true;
    }
    // Whether no message is in flight.
    bool idle() const { return waiting_ == 0; }

    // Returns why a peer is lost, and sets `lost`; empty if none is. Call it often while messages are in
    // flight: most calls only read a clock. `asks_kernel` selects the peers whose kernel is asked. A peer
    // that cannot be reached, perhaps behind a firewall, is not lost.
    std::string find_lost(const std::function<bool(int peer)>& asks_kernel, int& lost);

  private:
    using Clock = std::chrono::steady_clock;
    struct Peer {
        std::size_t waiting = 0;  // messages in flight
        bool completed = false;   // a message, since the last question
        bool was_waiting = false;
    };
    // To a peer's kernel.
    struct Connection {
        std::vector<tcp::IpAddress> routes;
        std::size_t route = 0;
        tcp::Socket socket;
        bool connected = false;
        Clock::time_point refused{};  // since when connections are refused, by a host that was never reached
    };

    Peer& of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    std::vector<int> slow_peers(const std::function<bool(int peer)>& asks_kernel);
    std::vector<int> some_of(const std::vector<int>& peers);
    std::string ask(Connection& connection, const tcp::Address& peer);
    std::string connect(Connection& connection, const tcp::Address& peer);
    std::string connect_ended(Connection& connection, const tcp::Address& peer, int error);
    std::string refused(Connection& connection, const tcp::Address& peer);

    tcp::Options options_;
    tcp::Address own_{};
    std::vector<tcp::Socket> listeners_;  // empty: kernels are not asked
    std::vector<tcp::Address> addresses_;
    std::vector<Peer> peers_;
    std::size_t waiting_ = 0;
    std::chrono::nanoseconds last_question_{0};
    std::map<int, Connection> connections_;
    std::set<std::uint64_t> reached_;  // hosts
    unsigned rounds_ = 0;
    std::size_t next_ = 0;  // of many peers, the first that is asked
};

}  // namespace lapwing
