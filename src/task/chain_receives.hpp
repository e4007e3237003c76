// The receives of a list as its chain form needs them: which stand among the sends, which waits stand for
// which of them, and the gates that these need.
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
    int group = -1;  // of the wait that takes it; -1: it is complete when the list is
    int gate = -1;   // that it signals; -1: none, or the next receive of its peer signals for both
};

struct PeerReceives {
    int rank = 0;
    std::uint64_t bytes = 0;  // on the connection, in the whole list
    std::vector<PlannedReceive> receives;
    bool among_sends = false;  // its receives stand in the sending chain
    std::size_t taken = 0;     // receives whose wait the lowering has come to
};

// Without those of intra-node peers.
class ChainReceives {
  public:
    // The list's waits must be right.
    ChainReceives(const List& list, const ChainLimits& limits, const HostSequence& host);

    // In the order in which the list first names them.
    const std::vector<PeerReceives>& peers() const { return peers_; }
    PeerReceives& of(int peer);
    int gates() const { return gates_; }
    // The task where the local work at the end of the list begins.
    std::size_t tail() const { return tail_; }

  private:
    void find_tail(const List& list);
    int find_receives(const List& list, const HostSequence& host);
    void choose_gates(const ChainLimits& limits);

    std::vector<PeerReceives> peers_;
    std::unordered_map<int, std::size_t> index_;  // rank to its place in peers_
    std::size_t tail_ = 0;
    int gates_ = 0;
};

}  // namespace lapwing
