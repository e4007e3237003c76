// Finds peers whose process has ended although the network does not report it: UCX and libfabric report
// neither to a rank that only receives. The kernel of the peer's host answers (tcp/presence.hpp).
//
// A peer that is only silent is not lost: watch/job_watch.hpp reports it, and ends the job in the end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "links/tcp/presence.hpp"

namespace lapwing {

// Not thread-safe. No call waits.
class PeerWatch {
  public:
    // Time between two questions to kernels, while messages are in flight.
    static constexpr auto interval = std::chrono::milliseconds(200);

    // `internet`: how kernels are asked; null: they are not asked. Throws Error (system, invalid_argument).
    explicit PeerWatch(const tcp::Options* internet = nullptr);

    // What other ranks need to ask this rank's kernel; empty if kernels are not asked.
    tcp::Address address() const { return presence_ == nullptr ? tcp::Address{} : presence_->address(); }
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
    // flight: most calls only read a clock. `asks_kernel` selects the peers whose kernel is asked.
    std::string look(const std::function<bool(int peer)>& asks_kernel, int& lost);

  private:
    struct Peer {
        std::size_t waiting = 0;  // messages in flight
        bool completed = false;   // a message, since the last question
        bool was_waiting = false;
    };

    Peer& of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }

    std::unique_ptr<tcp::Presence> presence_;
    std::vector<Peer> peers_;
    std::size_t waiting_ = 0;
    std::chrono::nanoseconds last_look_{0};
    bool asking_ = false;  // connections to kernels may be open
};

}  // namespace lapwing
