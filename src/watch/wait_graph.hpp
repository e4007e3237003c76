// Who waits for whom, and the cycles among the ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "watch/calls.hpp"
#include "watch/job_view.hpp"
#include "watch/mismatches.hpp"

namespace lapwing::watch {

// Messages in flight take less. Younger waits for messages are not taken for a part of a cycle.
constexpr std::uint64_t settled = 1'000'000'000;

// Something that happens when ranks arrive: all ranks of `missing`, or, if `any`, one of them.
struct Gate {
    Wait wait;              // of one of the ranks that wait
    bool by_calls = false;  // missing: the first `prefix` ranks of CommunicatorView::calls
    std::size_t prefix = 0;
    std::vector<int> missing;  // otherwise
    bool any = false;
    std::size_t remaining = 0;  // ranks that have not arrived in the run; not by_calls
    bool open = false;
    std::vector<int> waiting;  // ranks, ascending
    std::uint64_t age = 0;     // of the oldest wait
};

// Lets ranks that wait for no rank arrive everywhere, then the ranks that waited for them only, and so on.
// The ranks that remain wait for each other: a cycle, or ranks that wait for a cycle.
class WaitGraph {
  public:
    WaitGraph(const JobView& job, const Mismatches& mismatches);

    const std::vector<Gate>& gates() const { return gates_; }
    // Of collectives on the communicator, by number.
    const std::vector<int>& gates_of(int communicator) const { return gates_of_[communicator]; }

    // Returns the next cycle: (rank, gate in which it waits), each rank waits for the next one. Empty if none
    // is left. Removes it from the graph.
    std::vector<std::pair<int, int>> take_cycle();

  private:
    using Key = std::tuple<int, int, std::uint64_t, int, std::string>;

    void collect_native_waits();
    // The index in gates_; makes a new gate if there is none with this key.
    int gate(Key key, const Wait& wait);
    // `sure`: the wait ends only after the ranks of the gate have arrived. Otherwise that is so only if the
    // wait has lasted for long.
    void join(int index, const Wait& wait, bool sure);
    int explicit_gate(Key key, const Wait& wait, const std::vector<int>& missing);
    void add(const Wait& wait);
    void add_collective(const Wait& wait);
    // The gate for all ranks that have not made the call.
    int gate_of_call(const Wait& wait);
    // Returns whether `other` is about to transfer the message that `wait` waits for.
    static bool matches(const Wait& wait, const Wait& other);
    void add_message(const Wait& wait);
    void add_message_of_anyone(const Wait& wait);
    void add_native(const Wait& wait);
    void open(int index);
    // Opens the gates that the ranks which have arrived open.
    void advance(int communicator);
    void run();
    // Calls visit(rank) for each rank that has not arrived at the gate, until it returns false.
    template <typename Visit>
    void visit_missing(const Gate& gate, Visit visit) const;
    // The first closed gate of the rank, and the first rank that is missing there.
    std::pair<int, int> step(int rank) const;
    // A walk along first missing ranks ends in a cycle, not always in the shortest one.
    std::vector<std::pair<int, int>> find_cycle() const;
    std::vector<std::pair<int, int>> shortest_through(int start) const;

    const JobView& job_;
    const Mismatches& mismatches_;
    std::vector<Gate> gates_;
    std::map<Key, int> known_;
    std::map<std::pair<int, std::string>, std::vector<int>> inside_;  // of native collectives: ranks
    std::map<int, std::vector<int>> holds_;                           // by gate: ranks that wait for it
    std::vector<std::vector<int>> waits_on_;                          // by rank: gates
    std::vector<int> closed_;                                         // by rank: closed gates
    std::vector<bool> arrived_;                                       // by rank
    std::vector<std::size_t> reached_;        // by communicator: ranks of `calls` that have arrived, in order
    std::vector<std::size_t> next_gate_;      // by communicator: in gates_of_
    std::vector<std::vector<int>> gates_of_;  // by communicator: those by_calls
    std::vector<std::vector<int>> needed_by_;  // by rank: gates
    std::vector<std::vector<int>> any_;        // by communicator: gates
    std::deque<int> ready_;
};

}  // namespace lapwing::watch
