// The communicating pairs of ranks, with their sends and receives in order, and the pair of every task.
// Computed once for all rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task/list.hpp"

namespace lapwing::checker {

using TaskIndex = std::uint32_t;
using PairIndex = std::uint32_t;

// One direction between two ranks.
struct Pair {
    int sender;
    int receiver;
    std::uint32_t sends = 0;
    std::uint32_t recvs = 0;
    std::size_t first_send = 0;  // index of the pair's first message, from 0 to messages()
    std::size_t first_recv = 0;
};

class Traffic {
  public:
    // The lists must pass rule form. Takes time in proportion to the number of tasks and ranks.
    explicit Traffic(std::span<const List> lists);

    std::size_t size() const { return pairs_.size(); }
    std::size_t messages() const { return sends_.size(); }
    const Pair& operator[](PairIndex pair) const { return pairs_[pair]; }

    // Defined for send, recv and wait only.
    PairIndex pair_of(int rank, std::size_t task) const { return pair_of_[first_task_[rank] + task]; }
    // Return the n-th send of the pair as an index in the sender's list, and its n-th receive as an index in
    // the receiver's list.
    TaskIndex send(const Pair& pair, std::size_t n) const { return sends_[pair.first_send + n]; }
    TaskIndex recv(const Pair& pair, std::size_t n) const { return recvs_[pair.first_recv + n]; }

  private:
    void find_pairs(std::span<const List> lists);
    void enumerate(std::span<const List> lists);

    std::vector<Pair> pairs_;
    std::vector<std::size_t> first_task_;  // by rank, in pair_of_
    std::vector<PairIndex> pair_of_;
    std::vector<TaskIndex> sends_;
    std::vector<TaskIndex> recvs_;
};

}  // namespace lapwing::checker
