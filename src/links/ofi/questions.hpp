// Questions to peers that are silent, and answers to theirs. libfabric does not tell that a host is cut off,
// and over rxm it takes what is sent to one for ever; and where a firewall, or no network of the Internet at
// all, is between the hosts, their kernels cannot be asked (tcp/presence.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "links/ofi/transfers.hpp"
#include "links/silence.hpp"

namespace lapwing::ofi {

// Not thread-safe. Outlives the endpoint's last use: libfabric writes to it.
class Questions {
  public:
    // After join(). `tag`: of no group. A peer that has been silent for `patience` is lost.
    Questions(Transfers& transfers, std::uint64_t tag, int self, std::chrono::seconds patience);
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

    // Answers who has asked, and asks when it is time to.
    void step();

  private:
    struct Words {  // as they are sent
        std::uint32_t sender = 0;
        std::uint32_t asks = 0;
    };
    struct Peer {
        Silence silence;
        std::uint64_t received = 0;  // messages, at the last look
        bool waited_for = false;
    };

    void listen();
    void answer();
    void look();
    void tell(int peer, const Words& words);
    void finish_sends();

    Transfers& transfers_;
    const std::chrono::seconds patience_;
    const Words question_;
    const Words answer_;
    Words heard_;
    Group group_;
    Message* listening_ = nullptr;
    std::vector<Peer> peers_;
    std::chrono::steady_clock::time_point last_look_;
};

}  // namespace lapwing::ofi
