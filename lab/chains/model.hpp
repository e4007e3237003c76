// The chains of all ranks as a model, which the checker of chain forms runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chains/check.hpp"
#include "task/chains.hpp"
#include "task/checker/rules.hpp"
#include "task/list.hpp"

namespace lapwing::checker {

// The requirements of one task.
struct TaskFacts {
    PairIndex pair = 0;          // send, recv, wait
    std::uint64_t position = 0;  // send, recv: earlier bytes on its connection
    std::uint64_t bytes = 0;     // send, recv: on the connection, so at least 1
    std::uint32_t waits = 0;     // waits before it in the list
    std::uint32_t locals = 0;    // copies and reductions before it in the list
};

struct WaitFacts {
    TaskIndex task = 0;
    PairIndex pair = 0;
    std::uint64_t end = 0;  // bytes on the connection that satisfy it
};

// The requirements of all lists on their chain forms.
class ListFacts {
  public:
    // Throws Error (invalid_argument) if sends and receives do not match (the lists must be proven), if the
    // lists send more than max_bytes_of_chains, or if `hosts` is not empty and has the wrong size.
    ListFacts(std::span<const List> lists, const Traffic& traffic, std::span<const int> hosts = {});

    bool intra_node(int rank, int peer) const { return !hosts_.empty() && hosts_[rank] == hosts_[peer]; }
    // Returns whether the task is a message of an intra-node peer, or a wait for one.
    bool intra_node(int rank, const Task& task) const {
        return task.peer >= 0 && intra_node(rank, task.peer);
    }
    // Returns whether the processor does the task.
    bool by_processor(int rank, const Task& task) const {
        const bool local = task.kind == Kind::copy || task.kind == Kind::reduce;
        return local || (intra_node(rank, task) && !(task.kind == Kind::wait && task.count == 0));
    }

    const TaskFacts& task(int rank, std::size_t task) const { return tasks_[first_task_[rank] + task]; }
    const std::vector<WaitFacts>& waits(int rank) const { return waits_[rank]; }
    const std::vector<TaskIndex>& locals(int rank) const { return locals_[rank]; }
    // Bytes in one direction of one connection, in the whole lists.
    std::uint64_t bytes(PairIndex pair) const { return bytes_[pair]; }
    std::uint64_t total_bytes() const;

  private:
    std::span<const int> hosts_;
    std::vector<TaskFacts> tasks_;
    std::vector<std::size_t> first_task_;        // by rank
    std::vector<std::vector<WaitFacts>> waits_;  // by rank
    std::vector<std::vector<TaskIndex>> locals_;
    std::vector<std::uint64_t> bytes_;  // by pair
};

// Checks that every task of the list occurs once and whole, with intra-node tasks at the processor; that
// gates have as many signals as awaits; that only short receives are among sends; and that no chain exceeds
// the limit.
std::optional<ChainFault> check_chain_form(std::span<const List> lists, const ListFacts& facts,
                                           std::span<const Chains> chains, const ChainLimits& limits);

// One step, in the form for a run.
struct Move {
    Step::Kind kind = Step::Kind::send;
    std::uint32_t index = 0;     // of the pair; or of the gate, numbered across all ranks
    std::uint64_t amount = 0;    // bytes on the connection; signals
    std::uint64_t position = 0;  // send, receive: earlier bytes on its connection
    std::uint32_t waits = 0;     // send: waits that must be satisfied when it begins
    std::uint32_t locals = 0;    // send: copies and reductions that must be done
};

struct TableChain {
    int rank = 0;
    int stage = -1;  // -1: a receive chain
    std::uint32_t number = 0;
    std::uint32_t first = 0;  // moves
    std::uint32_t end = 0;
};

struct StagePlan {
    std::uint32_t first = 0;  // chains
    std::uint32_t end = 0;
    std::uint32_t host_steps = 0;  // that are done when the chains are submitted
};

// One step of the processor: a task or a wait.
struct HostStep {
    enum class Kind : std::uint8_t {
        work,  // a copy or a reduction
        send,  // to an intra-node peer
        post,  // a receive from an intra-node peer
        wait,  // until `bytes` intra-node or inter-node bytes have been received in this collective
        stage  // until `bytes` stages are complete, or all chains
    };
    Kind kind = Kind::work;
    TaskIndex task = 0;       // in the list; none for inter-node waits and stages
    PairIndex pair = 0;       // send, wait
    std::uint64_t bytes = 0;  // send: of the message; wait: received; stage: stages, or every_stage
};
constexpr std::uint64_t every_stage = UINT64_MAX;

struct RankPlan {
    std::uint32_t first = 0;  // receive chains
    std::uint32_t end = 0;
    bool intra_node = false;  // has intra-node peers
    std::vector<StagePlan> stages;
    std::vector<HostStep> host_steps;
};

// The chains of all ranks in one table; their form must be right.
struct ChainTable {
    ChainTable(std::span<const List> lists, const Traffic& traffic, const ListFacts& facts,
               std::span<const Chains> forms);

    std::span<const List> lists;
    const Traffic& traffic;
    const ListFacts& facts;
    std::span<const Chains> forms;
    std::vector<Move> moves;
    std::vector<TableChain> chains;
    std::vector<RankPlan> ranks;
    std::uint32_t gates = 0;
    bool intra_node = false;  // some rank has intra-node peers

    // "sending chain 1 of stage 0, step 2 (send 1 out[0+4])"
    std::string describe(std::uint32_t chain, std::uint32_t move) const;
    // Returns the task of the step.
    TaskIndex task_of(std::uint32_t chain, std::uint32_t move) const;

  private:
    void add_host_steps(int rank);
};

// One order in which the chains of all ranks may run, chosen to provoke failures. Steps that move no bytes
// happen as soon as possible, so that sends get ahead of tasks that they must not overtake.
struct Order {
    enum class Late { receives, connection, rank, others, processors, random };

    std::uint64_t capacity = 1;  // bytes that a connection holds
    std::uint64_t piece = 1;     // maximum number of bytes that move at once
    Late late = Late::receives;  // what moves only if nothing else can move
    std::uint32_t which = 0;     // connection: the pair; rank, others: the rank; random: the seed
    int rounds = 1;              // collectives in a row, without synchronization between them

    // Returns whether this step of the rank is late.
    bool is_late(int rank, const Move& move) const;
    // "when connections hold 1 byte and receives are late"
    std::string describe() const;
};

// Runs all chains of all ranks together, until the first fault.
std::optional<ChainFault> run_chains(const ChainTable& table, const Order& order);

}  // namespace lapwing::checker
