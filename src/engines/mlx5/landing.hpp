// The memory of a receiver to which the messages of a list are written. Receivers announce its addresses.
//
// Peers may be a run ahead, so a write may land before its receiver has started the run. That does no harm:
// the runs of one list on a lane use two memories in turn. A rank begins a run when the run before is
// complete, with all messages that it sent. Those messages used up receives, which the receiver posted when
// it began that run. So the receiver had ended the run before, which used the memory that is written to now.
// This takes the place of a credit, and costs no message.
//
// All ranks number the lists whose messages are written in the same order (Group::number_of_landing), and a
// lane has its runs in the same order on all ranks. So both ends know which memory a run uses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engines/mlx5/run.hpp"
#include "links/link.hpp"

namespace lapwing::mlx5 {

// Of one list, on one lane.
class Landing {
  public:
    // Exchanges the addresses of landings with the peers, on the channel of the first run. Returns true when
    // that is done. Throws Error (link, system).
    bool exchange(Device& device, Link& messages, const Plan& plan, std::uint32_t channel);

    // The next run begins. Returns its memory; null if peers send to this rank, so that the run uses its own.
    RunMemory* begin(const Plan& plan) {
        now_ = 1 - now_;
        return plan.written_to ? &memories_[now_] : nullptr;
    }
    // The index of the memory that the last run uses, here and at peers.
    std::size_t turn() const { return now_; }
    // The target of a message in the last run, to the peer of that queue. No key: the message is sent.
    RemoteData target(std::uint32_t queue, std::uint64_t message) const {
        const std::vector<Target>& all = peers_[queue].theirs;
        if (all.empty()) return {};
        const Target& target = all[message * memories_.size() + now_];
        return {target.address, static_cast<std::uint32_t>(target.key)};
    }

  private:
    struct Target {  // as announced
        std::uint64_t address = 0;
        std::uint64_t key = 0;
    };
    // The tables have an entry for each message, for either memory.
    struct Peer {
        std::vector<Target> mine, theirs;
        Link::Transfer out, in;
    };

    void announce(Device& device, Link& messages, const Plan& plan, std::uint32_t channel);

    std::array<RunMemory, 2> memories_;
    std::size_t now_ = 1;
    std::vector<Peer> peers_;  // by queue
    bool announced_ = false;
    bool exchanged_ = false;
};

}  // namespace lapwing::mlx5
