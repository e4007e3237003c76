// Chains made ready for one list: peers and gates by small numbers, so that a start only fills in descriptors
// and addresses. And what the processor does for it, as one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engines/messages.hpp"
#include "task/chains.hpp"

namespace lapwing::kernel {

struct PlannedStep {
    Step::Kind kind;
    Space space = Space::scratch;
    bool is_signal = false;    // no bytes of the list: one that nobody reads
    bool tells = false;        // also where it is not the last of its chain: the processor waits for it
    std::uint32_t slot = 0;    // send, receive: which of the peers; signal, await: which of the gates
    std::uint64_t offset = 0;  // bytes, in its space
    std::uint64_t bytes = 0;   // on the descriptor
};

using PlannedChain = std::vector<PlannedStep>;

struct PlannedStage {
    std::size_t host_steps = 0;  // that must be done before its chains are handed over
    std::vector<PlannedChain> chains;
};

// One thing after the other that the processor does, or waits for.
struct HostStep {
    enum class Kind : std::uint8_t {
        work,     // a copy or a reduction
        send,     // to an intra-node peer; `index` is its transfer
        receive,  // from one
        arrival,  // of intra-node messages, up to `index` of those awaited
        steps,    // `index` steps of line `line` have been done
        stage,    // all chains of the stages before stage `index` are complete
        end,      // all chains are complete
    };
    Kind kind = Kind::work;
    std::uint32_t line = 0;
    std::size_t index = 0;
    Task task = {};
};

struct ChainPlan {
    std::vector<int> peers;
    int gates = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t most_signals = 1;  // that one await takes
    std::uint64_t wire_bytes = 0;    // sent and received
    // Chains are lines: first those of the receives, then stage by stage.
    std::vector<PlannedChain> receives;
    std::vector<PlannedStage> stages;
    std::vector<HostStep> host_steps;
    MessagePlan messages;    // with intra-node peers
    std::size_t posted = 0;  // host steps after which all receives from intra-node peers have been posted
    bool has_intra_node = false;  // some turns are intra-node peers' messages
    bool has_work = false;        // some turns are copies or reductions
    bool needs_caller = false;    // some of those are the caller's own function

    // `near` as it was when the chains were made.
    explicit ChainPlan(const Chains& chains, const std::vector<bool>& intra_node = {});

  private:
    // Where the receives of an inter-node peer are complete: so many steps of a line.
    struct Arrival {
        std::uint32_t line = 0;
        std::uint32_t steps = 0;
        std::uint32_t task = 0;
    };
    using Arrivals = std::unordered_map<int, std::vector<Arrival>>;

    PlannedChain plan(const Chain& chain, Arrivals& arrivals);
    void run_host_steps(const std::vector<Task>& tasks, const std::vector<bool>& intra_node,
                        const Arrivals& arrivals);
    PlannedChain& line(std::uint32_t index);

    std::unordered_map<int, std::uint32_t> slots_;  // of the peers
    std::uint32_t lines_ = 0;
};

}  // namespace lapwing::kernel
