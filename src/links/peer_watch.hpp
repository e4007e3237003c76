// Finds peers that are lost although the network does not report it. TCP notices a host that is cut off after
// a quarter of an hour, and never on a connection that only receives; UCX and libfabric may not notice at
// all.
//
// Two means, each fabric has those that it needs:
// - Questions. A peer that this rank waits for, and that has been silent for a while, is asked whether it is
//   there; without an answer it is lost in the end. The peer's process must make progress to answer.
// - Its kernel (tcp/presence.hpp). Answers also for processes that do nothing, but only over the Internet
//   protocols.
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
    // `patience`: silence after which a peer is lost; 0: no questions. `internet`: how kernels are asked;
    // null: they are not asked. Throws Error (system, invalid_argument).
    explicit PeerWatch(std::chrono::seconds patience, const tcp::Options* internet = nullptr);

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
    // Something has arrived from the peer.
    void heard(int peer) { of(peer).heard = true; }
    // Whether no message is on its way.
    bool idle() const { return waiting_ == 0; }

    struct Finding {
        int peer = 0;
        std::string lost;  // why the peer is lost; empty: ask it
    };
    // Call it often while messages are on their way; most calls cost one look at a clock. `asks_kernel`
    // selects the peers whose kernel is asked.
    std::vector<Finding> look(const std::function<bool(int peer)>& asks_kernel);
    // Time between two looks for silent peers; negative if there are no questions.
    std::chrono::nanoseconds interval() const;

  private:
    struct Peer {
        std::size_t waiting = 0;  // messages on their way
        bool heard = false;       // since the last look
        int silent_looks = 0;
        bool completed = false;  // a message, since kernels were last asked
        bool was_waiting = false;
    };

    Peer& of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    void look_for_silence(std::vector<Finding>& findings);
    void ask_kernels(const std::function<bool(int peer)>& asks_kernel, std::vector<Finding>& findings);

    const std::chrono::seconds patience_;
    std::unique_ptr<tcp::Presence> presence_;
    std::vector<Peer> peers_;
    std::size_t waiting_ = 0;
    std::chrono::nanoseconds last_look_{0};   // of a clock
    std::chrono::nanoseconds last_asked_{0};  // kernels
    bool asking_ = false;                     // connections to kernels may be open
};

}  // namespace lapwing
