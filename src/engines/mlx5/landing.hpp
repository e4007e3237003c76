// Where the messages of a list are written: memory of their receiver's, whose address the sender has been
// told.
//
// Peers may be a run ahead, so a write may come before its receiver has started the run. It does no harm
// there: a lane's runs of one list use two memories in turn, and a rank begins a run when the one before is
// complete, its messages included. These have used up receives, which the receiver posts when it begins that
// run; so it has ended the one before that, which used the memory that is written to now. That is the credit,
// and it costs no message.
//
// All ranks number the lists whose messages are written in the same order (Group::number_of_landing), and a
// lane has its runs in the same order on all ranks. So both ends know which memory a run uses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engines/mlx5/run_memory.hpp"
#include "links/link.hpp"

namespace lapwing::mlx5 {

// Of one list, on one lane.
class Landing {
  public:
    // Tells peers where their messages are written, and hears where this rank's are; on the first run's
    // channel. True when that is done. Throws Error (link, system).
    bool exchange(Device& device, Link& messages, const Plan& plan, std::uint32_t channel);

    // The next run begins. Its memory; null: the run's own, since peers send to this rank.
    RunMemory* begin(const Plan& plan) {
        now_ = 1 - now_;
        return plan.written_to ? &memories_[now_] : nullptr;
    }
    // Which of the two memories the run that began last uses, here and at peers.
    std::size_t turn() const { return now_; }
    // Of the run that began last: where a message to the peer of that queue is written. No key: it is sent.
    RemoteData target(std::uint32_t queue, std::uint64_t message) const {
        const std::vector<Target>& all = peers_[queue].theirs;
        if (all.empty()) return {};
        const Target& target = all[message * memories_.size() + now_];
        return {target.address, static_cast<std::uint32_t>(target.key)};
    }

  private:
    struct Target {  // as it is told
        std::uint64_t address = 0;
        std::uint64_t key = 0;
    };
    // The tables have an entry for each message, for either memory.
    struct Peer {
        std::vector<Target> mine, theirs;
        Link::Transfer out, in;
    };

    void tell(Device& device, Link& messages, const Plan& plan, std::uint32_t channel);

    std::array<RunMemory, 2> memories_;
    std::size_t now_ = 1;
    std::vector<Peer> peers_;  // by queue
    bool told_ = false;
    bool exchanged_ = false;
};

}  // namespace lapwing::mlx5
