// The chains of one list, with peers and gates as small numbers. A start only fills in descriptors and
// addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/short_message.hpp"
#include "engines/engine.hpp"
#include "engines/kernel/options.hpp"
#include "engines/messages.hpp"
#include "task/chains.hpp"
#include "task/peer_numbers.hpp"
#include "task/task.hpp"

namespace lapwing::kernel {

// A step that the processor does while the kernel runs the chains.
struct HostStep {
    enum class Kind : std::uint8_t {
        work,        // a copy or a reduction
        intra_node,  // starts a message to or from an intra-node peer, or waits for messages
        receipt,     // waits until the first `index` steps of chain `chain` are done
        stage,       // waits until all chains of the stages before stage `index` are complete
        end,         // waits until all chains are complete
    };
    Kind kind = Kind::work;
    std::uint32_t chain = 0;
    std::size_t index = 0;  // intra_node: of the awaited receives, the end of the wait's
    Task task = {};         // work, intra_node
};

// The host steps of a list, in order.
struct HostProgram {
    std::vector<HostStep> steps;
    MessagePlan messages;            // of intra-node peers, on a link of their own
    std::size_t receives_until = 0;  // the steps before this one post all receives of `messages`
    std::size_t awaited = 0;         // receives, by the steps so far
    bool has_work = false;
    // A reduction calls the program's own function, which only threads of the program may do.
    bool needs_program = false;

    bool has_messages() const { return messages.sends() + messages.receives() > 0; }
};

struct PlannedStep {
    Step::Kind kind;
    Space space = Space::scratch;
    bool is_signal = false;  // its byte is not part of the list, and no step reads it
    bool signals_completion =
        false;                 // a host step waits for this step, which may not be the last of its chain
    std::uint32_t slot = 0;    // send, receive: index in ChainPlan::peers; signal, await: of the gate
    std::uint64_t offset = 0;  // bytes, in its space
    std::uint64_t bytes = 0;   // on the descriptor
    // Of a receive: the kernel advances it only when this many bytes, or the rest of the step's, have
    // arrived. 0: whenever a packet arrives.
    int low_water_mark = 0;
    static constexpr std::uint32_t no_task = UINT32_MAX;
    std::uint32_t task = no_task;  // of the list, that the step completes

    // The bytes after which only low_water_mark bytes of the step are left.
    std::uint64_t tail() const { return bytes - static_cast<std::uint64_t>(low_water_mark); }
    // The number of operations of io_uring (submission.hpp) for the whole step.
    std::uint32_t operations() const { return low_water_mark == 0 ? 1 : tail() == 0 ? 4 : 5; }
    bool sends() const { return kind == Step::Kind::send || kind == Step::Kind::signal; }
    bool has_peer() const { return kind == Step::Kind::send || kind == Step::Kind::receive; }
    // In ChainPlan::steps_of_peers and KernelRun::turns, of a step that has a peer.
    std::size_t direction() const { return 2 * slot + (sends() ? 0 : 1); }
};

using PlannedChain = std::vector<PlannedStep>;

struct PlannedStage {
    std::size_t host_steps = 0;  // number that must be done before the chains begin
    std::size_t end = 0;         // of its chains, in ChainPlan::chains
};

struct ChainPlan {
    static constexpr std::size_t max_chains = 1U << 22;  // completions have so many numbers for them
    std::vector<int> peers;
    int gates = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t max_signals = 1;  // that one await receives
    std::uint64_t wire_bytes = 0;   // sent and received
    // The number of sends to each peer and of receives from it, at 2 * slot and 2 * slot + 1.
    std::vector<std::uint32_t> steps_of_peers;
    std::vector<PlannedChain> chains;  // first those of the receives, then stage by stage
    std::size_t receives = 0;          // number of chains
    std::vector<PlannedStage> stages;
    HostProgram host;

    // The messages of a short list fit into the sockets, too.
    bool is_short() const { return wire_bytes <= max_short_bytes; }
    // Whether messages to this rank may wait in the sockets for the next call. A longer list qualifies if no
    // other rank waits for what this rank does with its messages.
    bool may_wait_in_sockets() const { return is_short() || fits_sockets_; }
    // Whether a run may begin while other runs have its lane. Gates take descriptors, so that there must not
    // be many in flight.
    bool may_share_lane() const { return is_short() && gates == 0; }

    // `intra_node` must be the one that the chains were made with. Throws Error (unsupported) when there are
    // too many chains.
    explicit ChainPlan(const Chains& chains, const std::vector<bool>& intra_node = {},
                       const Options& options = {});

  private:
    // A message from an inter-node peer has arrived when `steps` steps of the chain are done.
    struct Receipt {
        std::uint32_t chain = 0;
        std::uint32_t steps = 0;
    };
    using Receipts = std::unordered_map<int, std::vector<Receipt>>;  // by peer, in the order of its messages

    // `receipts`: null if no host step waits for messages of inter-node peers.
    void add(const Chain& chain, std::uint64_t low_water_mark, PeerNumbers& slots, Receipts* receipts);
    void add_host_steps(const std::vector<Task>& tasks, const std::vector<bool>& intra_node,
                        const Receipts& receipts);
    bool fits(std::uint64_t socket_bytes) const;

    bool fits_sockets_ = false;
};

}  // namespace lapwing::kernel
