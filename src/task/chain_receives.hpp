// The receives of a list, for its chain form: which of them are placed among the sends, which wait completes
// which receive, and the gates that they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "task/chain_form.hpp"
#include "task/host_sequence.hpp"
#include "task/list.hpp"

namespace lapwing {

struct PlannedReceive {
    std::uint32_t task = 0;
    Span span;
    int group = -1;  // of the wait that completes it; -1: it completes with the list
    int gate = -1;   // that it signals; -1: none, or the next receive of its peer signals for both
};

struct PeerReceives {
    int rank = 0;
    std::uint64_t bytes = 0;  // on the connection, in the whole list
    std::vector<PlannedReceive> receives;
    bool among_sends = false;  // its receives are in the sending chain
    std::size_t taken = 0;     // receives whose wait has been lowered
};

// Does not include intra-node peers.
class ChainReceives {
  public:
    // The list's waits must be right.
    ChainReceives(const List& list, const ChainLimits& limits, const HostSequence& host);

    // In the order of their first occurrence in the list.
    const std::vector<PeerReceives>& peers() const { return peers_; }
    PeerReceives& of(int peer);
    int gates() const { return gates_; }
    // The index of the first of the copies and reductions at the end of the list.
    std::size_t tail() const { return tail_; }

  private:
    void find_tail(const List& list);
    int find_receives(const List& list, const HostSequence& host);
    void choose_gates(const ChainLimits& limits);

    std::vector<PeerReceives> peers_;
    std::unordered_map<int, std::size_t> index_;  // rank to index in peers_
    std::size_t tail_ = 0;
    int gates_ = 0;
};

}  // namespace lapwing
