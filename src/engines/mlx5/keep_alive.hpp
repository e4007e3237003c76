// Asks whether peers are still alive. A card reports that a peer does not answer what it sends, but a rank
// that only receives sends nothing.
//
// The question is a write of no bytes. The peer's card answers it, whatever the peer's processor does. It has
// a queue pair of its own, because the requests in other queues may wait for the missing message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engines/mlx5/queues.hpp"

namespace lapwing::mlx5 {

class KeepAlive {
  public:
    KeepAlive(Device& device, int ranks);
    ~KeepAlive() { close(); }
    KeepAlive(const KeepAlive&) = delete;
    KeepAlive& operator=(const KeepAlive&) = delete;

    // The address that `peer` needs to connect; connects to the peer's. Repeated calls do nothing.
    Address address(int peer);
    void connect(int peer, const Address& theirs);

    // Does nothing if the peer is not connected, or has not answered the last question.
    void ask(int peer);
    // Reads answers. Returns whether any peer was found lost.
    bool some_are_lost();
    // Why the peer is lost; empty if it is not known to be. A peer that has sent all of its messages may have
    // ended in order.
    std::string why_lost(int peer) const;
    // Peers that ask get no answer any more.
    void close();

  private:
    struct Peer {
        explicit Peer(const QueuePair& pair) : queue(pair) {}
        SendQueue queue;
        bool connected = false;
        bool asked = false;
        std::string lost;
    };
    Peer& peer(int rank);

    Device& device_;
    const int ranks_;
    std::optional<CompletionReader> answers_;  // none: closed, or not used yet
    std::map<int, Peer> peers_;
    bool some_are_lost_ = false;
};

}  // namespace lapwing::mlx5
