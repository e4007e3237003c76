// The requirements of lists on their chain forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace lapwing::checker
