// The steps of a list that the processor does, in order, while the kernel runs the chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/intra_node.hpp"
#include "task/task.hpp"

namespace lapwing::kernel {

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
    std::size_t index = 0;  // intra_node: the result of IntraNodePlan::add()
    Task task = {};         // work, intra_node
};

class HostStepPlan {
  public:
    // `task`: a copy, a reduction, or a task with an intra-node peer. Throws Error (internal) for an enable.
    void add(const Task& task);
    void add_receipt(std::uint32_t chain, std::uint32_t steps);
    void add_stage(std::size_t stage) { steps_.push_back({HostStep::Kind::stage, 0, stage}); }
    void add_end() { steps_.push_back({HostStep::Kind::end}); }

    const std::vector<HostStep>& steps() const { return steps_; }
    const IntraNodePlan& intra_node() const { return intra_node_; }
    bool has_work() const { return has_work_; }
    // Whether a reduction calls the program's own function, which only threads of the program may do.
    bool needs_program() const { return needs_program_; }

  private:
    std::vector<HostStep> steps_;
    IntraNodePlan intra_node_;
    bool has_work_ = false;
    bool needs_program_ = false;
};

}  // namespace lapwing::kernel
