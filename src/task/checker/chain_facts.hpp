// What lists say of their chain forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "task/checker/rules.hpp"
#include "task/list.hpp"

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
    // than max_bytes_of_chains in all; and for hosts, where there are any, of another number of ranks.
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

}  // namespace lapwing::checker
