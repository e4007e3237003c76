// The chain forms of all ranks as one table, for runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "task/chain_form.hpp"
#include "task/checker/chain_facts.hpp"
#include "task/checker/rules.hpp"

namespace lapwing::checker {

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

}  // namespace lapwing::checker
