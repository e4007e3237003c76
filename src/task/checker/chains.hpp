// Rule chains: what the lists say of the chain forms, the chain forms as one table, and runs of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "task/chains.hpp"
#include "task/checker/rules.hpp"

namespace lapwing::checker {

// What a list says about one of its tasks.
struct TaskFacts {
    PairIndex pair = 0;          // send, recv, wait
    std::uint64_t position = 0;  // send, recv: bytes that go before it on its connection
    std::uint64_t bytes = 0;     // send, recv: on the connection, so at least 1
    std::uint32_t waits = 0;     // of this list, that stand before it
    std::uint32_t locals = 0;    // copies and reductions of this list, that stand before it
};

struct WaitFacts {
    TaskIndex task = 0;
    PairIndex pair = 0;
    std::uint64_t end = 0;  // bytes that have arrived on the connection when it is satisfied
};

class ListFacts {
  public:
    // Throws Error (invalid_argument) when sends and receives do not meet: the lists must be proven; for more
    // than most_bytes_of_chains in all; and for hosts, where there are any, of another number of ranks.
    ListFacts(std::span<const List> lists, const Traffic& traffic, std::span<const int> hosts = {});

    bool intra_node(int rank, int peer) const { return !hosts_.empty() && hosts_[rank] == hosts_[peer]; }
    // Whether it is a message of an intra-node peer, or a wait for one.
    bool intra_node(int rank, const Task& task) const {
        return task.peer >= 0 && intra_node(rank, task.peer);
    }
    // Whether the processor does the task, in its place in the list.
    bool by_processor(int rank, const Task& task) const {
        const bool local = task.kind == Kind::copy || task.kind == Kind::reduce;
        return local || (intra_node(rank, task) && !(task.kind == Kind::wait && task.count == 0));
    }

    const TaskFacts& task(int rank, std::size_t task) const { return tasks_[first_task_[rank] + task]; }
    const std::vector<WaitFacts>& waits(int rank) const { return waits_[rank]; }
    const std::vector<TaskIndex>& locals(int rank) const { return locals_[rank]; }
    // On one direction of one connection, in the whole lists.
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

// What can be told from one rank's chains alone: every task is there once, whole, and as its list has it,
// what is intra-node among the processor's; as many signals as are awaited; among the sends only receives
// that are short; no chain longer than it may be.
void check_chain_form(std::span<const List> lists, const ListFacts& facts, std::span<const Chains> chains,
                      const ChainLimits& limits, Findings& findings);

// One step, as a run needs it.
struct Move {
    Step::Kind kind = Step::Kind::send;
    std::uint32_t place = 0;     // pair; or gate, numbered through all ranks
    std::uint64_t amount = 0;    // bytes on the connection; signals
    std::uint64_t position = 0;  // send, receive: bytes that go before it on its connection
    std::uint32_t waits = 0;     // send: that must be satisfied when it begins
    std::uint32_t locals = 0;    // send: that must be done
};

struct Line {
    int rank = 0;
    int stage = -1;  // -1: a receive chain
    std::uint32_t number = 0;
    std::uint32_t first = 0;  // moves
    std::uint32_t end = 0;
};

struct StagePlan {
    std::uint32_t first = 0;  // lines
    std::uint32_t end = 0;
    std::uint32_t host_steps = 0;  // of the processor, that are done when it hands the chains over
};

// What the processor does, or waits for, one after the other.
struct HostStep {
    enum class Kind : std::uint8_t {
        work,  // a copy or a reduction
        send,  // to an intra-node peer
        post,  // a receive of an intra-node peer
        wait,  // for intra-node bytes, or for inter-node ones: until so many have been received in this
               // collective
        stage  // until so many stages are complete; or everything is
    };
    Kind kind = Kind::work;
    TaskIndex task = 0;       // in the list; none for inter-node waits and stages
    PairIndex pair = 0;       // send, wait
    std::uint64_t bytes = 0;  // send: of the message; wait: received; stage: stages, or every_stage
};
constexpr std::uint64_t every_stage = UINT64_MAX;

struct RankPlan {
    std::uint32_t first = 0;  // receive lines
    std::uint32_t end = 0;
    bool intra_node = false;  // some tasks are of intra-node peers
    std::vector<StagePlan> stages;
    std::vector<HostStep> host_steps;
};

// The chains of all ranks in one table; their form is right.
struct ChainPlan {
    ChainPlan(std::span<const List> lists, const Traffic& traffic, const ListFacts& facts,
              std::span<const Chains> chains);

    std::span<const List> lists;
    const Traffic& traffic;
    const ListFacts& facts;
    std::span<const Chains> chains;
    std::vector<Move> moves;
    std::vector<Line> lines;
    std::vector<RankPlan> ranks;
    std::uint32_t gates = 0;
    bool intra_node = false;  // of some rank

    // "sending chain 1 of stage 0, step 2 (send 1 out[0+4])"
    std::string told(std::uint32_t line, std::uint32_t move) const;
    // The task that the step comes from.
    TaskIndex task_of(std::uint32_t line, std::uint32_t move) const;

  private:
    void add_host_steps(int rank);
};

// One order in which chains may run. Steps that do not move bytes happen as soon as they can: this is how
// sends get ahead of what they must not overtake.
struct Order {
    enum class Late { nothing, receives, connection, rank, others, processors, random };

    std::uint64_t capacity = 1;  // bytes that a connection holds
    std::uint64_t piece = 1;     // most bytes that move at once
    Late late = Late::nothing;   // what moves only when nothing else can
    std::uint32_t which = 0;     // connection: the pair; rank, others: the rank; random: the seed
    int rounds = 1;              // collectives, one after the other; no rank waits for another between them

    std::string told() const;
};

// Runs all chains of all ranks together; ends with the first finding.
void run_chains(const ChainPlan& plan, const Order& order, Findings& findings);

}  // namespace lapwing::checker
