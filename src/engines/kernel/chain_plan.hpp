// The chains of one list, prepared so that a start only fills in descriptors and addresses: peers and gates
// have become small numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/short_message.hpp"
#include "engines/engine.hpp"
#include "engines/kernel/host_step_plan.hpp"
#include "task/chains.hpp"

namespace lapwing::kernel {

struct PlannedStep {
    Step::Kind kind;
    Space space = Space::scratch;
    bool is_signal = false;           // its byte is not one of the list: nobody reads it
    bool signals_completion = false;  // also where other steps follow in its chain: a host step waits for it
    std::uint32_t slot = 0;           // send, receive: which of the peers; signal, await: which of the gates
    std::uint64_t offset = 0;         // bytes, in its space
    std::uint64_t bytes = 0;          // on the descriptor

    bool sends() const { return kind == Step::Kind::send || kind == Step::Kind::signal; }
};

using PlannedChain = std::vector<PlannedStep>;

struct PlannedStage {
    std::size_t host_steps = 0;  // that must be done before its chains begin
    std::vector<PlannedChain> chains;
};

struct ChainPlan {
    std::vector<int> peers;
    int gates = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t max_signals = 1;  // that one await takes
    std::uint64_t wire_bytes = 0;   // sent and received
    // Chains are numbered: first those of the receives, then stage by stage.
    std::vector<PlannedChain> receives;
    std::vector<PlannedStage> stages;
    HostStepPlan host;

    // What it moves fits into the sockets, too.
    bool is_short() const { return wire_bytes <= max_short_bytes; }
    // Its messages may wait in the sockets for a call. Of a longer list: nobody waits for what this rank does
    // with what it receives.
    bool may_wait_in_sockets() const { return is_short() || fits_sockets_; }

    // `intra_node` as it was when the chains were made. `socket_bytes`: what each socket holds.
    explicit ChainPlan(const Chains& chains, const std::vector<bool>& intra_node = {},
                       std::uint64_t socket_bytes = EngineOptions{}.socket_bytes);

  private:
    // Where a message from an inter-node peer has been received: after so many steps of a chain.
    struct Receipt {
        std::uint32_t chain = 0;
        std::uint32_t steps = 0;
        std::uint32_t task = 0;
    };
    using Receipts = std::unordered_map<int, std::vector<Receipt>>;  // by peer, in the order of its messages

    PlannedChain plan(const Chain& chain, Receipts& receipts);
    std::uint32_t slot_of(int peer);
    void add_host_steps(const std::vector<Task>& tasks, const std::vector<bool>& intra_node,
                        const Receipts& receipts);
    PlannedChain& chain(std::uint32_t number);

    bool fits(std::uint64_t socket_bytes) const;

    std::unordered_map<int, std::uint32_t> slots_;  // of the peers
    std::uint32_t chains_ = 0;
    bool fits_sockets_ = false;
};

}  // namespace lapwing::kernel
