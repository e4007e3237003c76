// Asks whether peers are still there, for who waits for their messages: a card reports that what it sends
// finds nobody, but a rank that only receives sends nothing.
//
// A write of no bytes asks; the peer's card answers it, whatever its processor does. It has a queue pair of
// its own, because others may wait for the very message that does not come.
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

    // What `peer` must know to connect; and connects with it. Repeated calls do nothing.
    Address address(int peer);
    void connect(int peer, const Address& theirs);

    // Of a peer that is connected; nothing where it still owes an answer.
    void ask(int peer);
    // Reads answers. Whether any peer has been found not to answer.
    bool some_are_lost();
    // Why that peer is; empty: it is there, as far as is known. A peer that has sent all of its messages may
    // have ended in order.
    std::string why_lost(int peer) const;
    // Who asks this rank gets no answer any more.
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
    std::optional<CompletionReader> answers_;  // none: it is closed, or has not been needed
    std::map<int, Peer> peers_;
    bool some_are_lost_ = false;
};

}  // namespace lapwing::mlx5
