// Chains made ready for one list: peers and gates by small numbers, so that a start only fills in descriptors
// and addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "task/chains.hpp"

namespace lapwing::kernel {

struct PlannedStep {
    Step::Kind kind;
    Space space = Space::scratch;
    bool is_signal = false;    // no bytes of the list: one that nobody reads
    std::uint32_t slot = 0;    // send, receive: which of the peers; signal, await: which of the gates
    std::uint64_t offset = 0;  // bytes, in its space
    std::uint64_t bytes = 0;   // on the descriptor
};

using PlannedChain = std::vector<PlannedStep>;

struct PlannedStage {
    std::vector<Task> local;
    std::vector<PlannedChain> chains;
};

struct Plan {
    std::vector<int> peers;
    int gates = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t most_signals = 1;  // that one await takes
    std::uint64_t wire_bytes = 0;    // sent and received
    std::vector<PlannedChain> receives;
    std::vector<PlannedStage> stages;
    std::vector<Task> last;
    // No send of the first stage reads what its local work writes: the work can be done while they are on
    // their way.
    bool local_may_follow = true;
    bool needs_caller = false;  // some of it is the caller's own function

    explicit Plan(const Chains& chains);
};

}  // namespace lapwing::kernel
