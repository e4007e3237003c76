#include "watch/wait_graph.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "task/mpi_function.hpp"
#include "watch/calls.hpp"

namespace lapwing::watch {
namespace {

// Whether the call ends only after all ranks have made it.
bool needs_all_ranks(const CollectiveCall& call, bool is_root) {
    switch (call.arguments.collective) {
        case Collective::gather:
        case Collective::reduce:
            return is_root && call.arguments.bytes > 0;
        case Collective::barrier:
            return true;
        case Collective::allgather:
        case Collective::alltoall:
        case Collective::allreduce:
        case Collective::reduce_scatter_block:
            return call.arguments.bytes > 0;
        default:
            return false;
    }
}

bool needs_root(Collective collective) {
    return collective == Collective::broadcast || collective == Collective::scatter ||
           collective == Collective::scatterv;
}

// Whether `other` is about to transfer the message that `wait` waits for.
bool matches(const Wait& wait, const Wait& other) {
    if (other.communicator != wait.communicator) return false;
    if (other.kind == Wait::Kind::message ? other.peer != wait.rank
                                          : other.kind != Wait::Kind::message_of_anyone) {
        return false;
    }
    const CurrentCall& a = *wait.current;
    const CurrentCall& b = *other.current;
    if (a.tag >= 0 && b.tag >= 0 && a.tag != b.tag) return false;
    const MpiFunction one = MpiFunction::of(a.function);
    const MpiFunction another = MpiFunction::of(b.function);
    // MPI_Wait may do either.
    const bool unknown = !(one.sends() || one.receives()) || !(another.sends() || another.receives());
    return unknown || (one.sends() && another.receives()) || (one.receives() && another.sends());
}

// Lets ranks that wait for no rank arrive everywhere, then the ranks that waited for them only, and so on.
// The ranks that remain wait for each other: a cycle, or ranks that wait for a cycle.
class Search {
  public:
    Search(const JobView& job, const Mismatches& mismatches)
        : job_(job),
          mismatches_(mismatches),
          waits_on_(job.ranks()),
          closed_(job.ranks()),
          arrived_(job.ranks()),
          needed_by_(job.ranks()),
          reached_(job.communicators.size()),
          next_gate_(job.communicators.size()),
          any_(job.communicators.size()) {
        graph_.gates_of.resize(job.communicators.size());
        for (const Wait& wait : job.waits) {
            if (wait.kind == Wait::Kind::native)
                inside_[{wait.communicator, wait.current->function}].push_back(wait.rank);
        }
        for (const Wait& wait : job.waits) add(wait);
        for (std::vector<int>& gates : graph_.gates_of)
            std::ranges::sort(gates, {}, [this](int index) { return graph_.gates[index].wait.number; });
        for (int index = 0; index < static_cast<int>(graph_.gates.size()); ++index) {
            const Gate& gate = graph_.gates[index];
            if (!gate.by_calls && gate.remaining == 0) open(index);
        }
        for (int rank = 0; rank < job.ranks(); ++rank) {
            if (closed_[rank] == 0) ready_.push_back(rank);
        }
    }

    WaitGraph run() {
        constexpr std::size_t max_cycles = 16;
        while (graph_.cycles.size() < max_cycles) {
            let_arrive();
            Cycle cycle = find_cycle();
            if (cycle.empty()) break;
            for (const auto& [rank, gate] : cycle) ready_.push_back(rank);
            graph_.cycles.push_back(std::move(cycle));
        }
        return std::move(graph_);
    }

  private:
    using Key = std::tuple<Wait::Kind, int, std::uint64_t, std::vector<int>, std::string>;

    // Returns the index of the gate in which this wait and all with an equal key wait, and whether it is new.
    std::pair<int, bool> gate(const Wait& wait, std::uint64_t number, const std::vector<int>& ranks = {},
                              const std::string& function = "") {
        const auto [entry, added] =
            known_.try_emplace({wait.kind, wait.communicator, number, ranks, function}, graph_.gates.size());
        if (added) graph_.gates.emplace_back().wait = wait;
        return {entry->second, added};
    }

    // The gate opens when these ranks have arrived.
    void require(int index, std::vector<int> missing) {
        for (const int rank : missing) needed_by_[rank].push_back(index);
        graph_.gates[index].remaining = missing.size();
        graph_.gates[index].missing = std::move(missing);
    }

    void count(Gate& gate, const Wait& wait) {
        if (gate.waiting.empty() || gate.waiting.back() != wait.rank) gate.waiting.push_back(wait.rank);
        gate.age = std::max(gate.age, wait.age);
    }

    // `sure`: the wait ends only after the ranks of the gate have arrived. Otherwise that is so only if the
    // wait has lasted for long.
    void join(int index, const Wait& wait, bool sure) {
        count(graph_.gates[index], wait);
        // A thread that polls, or that waits for one of several requests, may do something else meanwhile.
        const MpiFunction function = MpiFunction::of(wait.current->function);
        using Waits = MpiFunction::Waits;
        if (function.polls || function.waits == Waits::any || function.waits == Waits::some) return;
        if (!sure && wait.age < settled) return;
        ++closed_[wait.rank];
        waits_on_[wait.rank].push_back(index);
        holds_[index].push_back(wait.rank);
    }

    void add(const Wait& wait) {
        switch (wait.kind) {
            case Wait::Kind::collective:
                return add_collective(wait);
            case Wait::Kind::message:
                return add_message(wait);
            case Wait::Kind::message_of_anyone:
                return add_message_of_anyone(wait);
            case Wait::Kind::native:
                return add_native(wait);
        }
    }

    void add_collective(const Wait& wait) {
        if (wait.number >= mismatches_.first[wait.communicator]) return;
        const CommunicatorView& view = job_.communicators[wait.communicator];
        // Ranks whose messages this one needs next, and which have not made the call.
        std::vector<int> needed;
        const auto need = [&](int member) {
            if (member < 0 || static_cast<std::size_t>(member) >= view.members.size()) return;
            const CommunicatorSnapshot* const snapshot = view.snapshots[member];
            const bool called = snapshot != nullptr && snapshot->calls >= wait.number;
            if (!called && job_.snapshot(view.members[member]) != nullptr)
                needed.push_back(view.members[member]);
        };
        bool sure = false;
        if (const CollectiveCall* const call = wait.call) {
            const int root = call->arguments.root;
            std::ranges::for_each(call->position.awaited, need);
            if (needed.empty() && needs_root(call->arguments.collective)) need(root);
            sure = needs_all_ranks(*call, root >= 0 && static_cast<std::size_t>(root) < view.members.size() &&
                                              view.members[root] == wait.rank);
        }
        const auto [all, added] = gate(wait, wait.number);
        if (added) {
            graph_.gates[all].by_calls = true;
            graph_.gates[all].prefix = view.count_before(wait.number);
            graph_.gates_of[wait.communicator].push_back(all);
        }
        if (needed.empty()) return join(all, wait, sure);
        count(graph_.gates[all], wait);
        std::ranges::sort(needed);
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        const auto [some, first] = gate(wait, wait.number, needed);
        if (first) require(some, std::move(needed));
        join(some, wait, true);
    }

    void add_message(const Wait& wait) {
        if (wait.peer < 0 || wait.peer == wait.rank || job_.snapshot(wait.peer) == nullptr) return;
        for (const Wait& other : job_.waits_of(wait.peer)) {
            if (matches(wait, other)) return;
        }
        const auto [index, added] = gate(wait, wait.rank, {wait.peer}, wait.current->function);
        if (added) require(index, {wait.peer});
        join(index, wait, false);
    }

    void add_message_of_anyone(const Wait& wait) {
        if (wait.communicator < 0) return;
        const CommunicatorView& view = job_.communicators[wait.communicator];
        if (view.members.size() < 2 || view.has_silent_member) return;
        const int index = gate(wait, wait.rank).first;
        graph_.gates[index].any = true;
        graph_.gates[index].remaining = 1;
        any_[wait.communicator].push_back(index);
        join(index, wait, false);
    }

    void add_native(const Wait& wait) {
        const std::string& function = wait.current->function;
        const auto [index, added] = gate(wait, 0, {}, function);
        if (added) {
            std::vector<int> missing(job_.ranks());
            std::iota(missing.begin(), missing.end(), 0);
            if (wait.communicator >= 0) missing = job_.communicators[wait.communicator].members;
            std::ranges::sort(missing);
            const std::vector<int>& inside = inside_.at({wait.communicator, function});
            std::erase_if(missing, [&](int rank) {
                return job_.snapshot(rank) == nullptr || std::ranges::binary_search(inside, rank);
            });
            require(index, std::move(missing));
        }
        join(index, wait, true);
    }

    void open(int index) {
        if (std::exchange(graph_.gates[index].open, true)) return;
        for (const int rank : holds_[index]) {
            if (--closed_[rank] == 0 && !arrived_[rank]) ready_.push_back(rank);
        }
    }

    // Opens the gates that the ranks which have arrived open.
    void advance(int communicator) {
        const CommunicatorView& view = job_.communicators[communicator];
        std::size_t& reached = reached_[communicator];
        while (reached < view.calls.size() && arrived_[view.calls[reached].second]) ++reached;
        std::size_t& next = next_gate_[communicator];
        const std::vector<int>& gates = graph_.gates_of[communicator];
        while (next < gates.size() && graph_.gates[gates[next]].prefix <= reached) open(gates[next++]);
    }

    void let_arrive() {
        for (int i = 0; i < static_cast<int>(job_.communicators.size()); ++i) advance(i);
        while (!ready_.empty()) {
            const int rank = ready_.front();
            ready_.pop_front();
            if (arrived_[rank]) continue;
            arrived_[rank] = true;
            for (const int index : needed_by_[rank]) {
                if (--graph_.gates[index].remaining == 0) open(index);
            }
            for (const auto& [communicator, member] : job_.member_of[rank]) {
                advance(communicator);
                for (const int index : any_[communicator]) {
                    if (graph_.gates[index].wait.rank != rank) open(index);
                }
                std::erase_if(any_[communicator], [this](int index) { return graph_.gates[index].open; });
            }
        }
    }

    // Calls visit(rank) for each rank that has not arrived at the gate, until it returns false.
    template <typename Visit>
    void visit_missing(const Gate& gate, Visit visit) const {
        const auto consider = [this, &gate, &visit](int rank) {
            return arrived_[rank] || (gate.any && rank == gate.wait.rank) || visit(rank);
        };
        if (gate.by_calls) {
            const auto& calls = job_.communicators[gate.wait.communicator].calls;
            for (std::size_t i = reached_[gate.wait.communicator]; i < gate.prefix; ++i) {
                if (!consider(calls[i].second)) return;
            }
        } else {
            const std::vector<int>& ranks =
                gate.any ? job_.communicators[gate.wait.communicator].members : gate.missing;
            for (const int rank : ranks) {
                if (!consider(rank)) return;
            }
        }
    }

    // A rank for which this one, which has not arrived, waits; -1 if a snapshot is wrong.
    int first_missing(int rank) const {
        int first = -1;
        const auto is_closed = [this](int index) { return !graph_.gates[index].open; };
        visit_missing(graph_.gates[*std::ranges::find_if(waits_on_[rank], is_closed)], [&first](int missing) {
            first = missing;
            return false;
        });
        return first;
    }

    // A walk along first missing ranks ends in a cycle, not always in the shortest one. Returns an empty
    // cycle if all ranks have arrived.
    Cycle find_cycle() const {
        int rank = static_cast<int>(std::ranges::find(arrived_, false) - arrived_.begin());
        if (rank == job_.ranks()) return {};
        std::vector<bool> walked(arrived_.size());
        for (; rank >= 0 && !walked[rank]; rank = first_missing(rank)) walked[rank] = true;
        return rank >= 0 ? shortest_through(rank) : Cycle();
    }

    Cycle shortest_through(int start) const {
        Cycle from(job_.ranks(), {-1, -1});           // by rank: (rank, gate) before
        std::vector<bool> seen(graph_.gates.size());  // gates whose ranks are already in the queue
        std::deque<int> queue{start};
        for (; !queue.empty(); queue.pop_front()) {
            const int rank = queue.front();
            for (const int index : waits_on_[rank]) {
                if (graph_.gates[index].open || seen[index]) continue;
                seen[index] = true;
                bool found = false;
                visit_missing(graph_.gates[index], [&](int missing) {
                    found = missing == start;
                    if (!found && from[missing].first < 0) {
                        from[missing] = {rank, index};
                        queue.push_back(missing);
                    }
                    return !found;
                });
                if (!found) continue;
                Cycle cycle{{rank, index}};
                for (int other = rank; other != start; other = from[other].first)
                    cycle.push_back(from[other]);
                std::ranges::reverse(cycle);
                std::rotate(cycle.begin(), std::ranges::min_element(cycle), cycle.end());
                return cycle;
            }
        }
        return {};
    }

    const JobView& job_;
    const Mismatches& mismatches_;
    WaitGraph graph_;
    std::map<Key, int> known_;
    std::map<std::pair<int, std::string>, std::vector<int>> inside_;  // of native collectives: ranks
    std::map<int, std::vector<int>> holds_;                           // by gate: ranks that wait for it
    std::vector<std::vector<int>> waits_on_;                          // by rank: gates
    std::vector<int> closed_;                                         // by rank: closed gates
    std::vector<bool> arrived_;                                       // by rank
    std::vector<std::vector<int>> needed_by_;                         // by rank: gates
    std::vector<std::size_t> reached_;    // by communicator: ranks of `calls` that have arrived, in order
    std::vector<std::size_t> next_gate_;  // by communicator: in WaitGraph::gates_of
    std::vector<std::vector<int>> any_;   // by communicator: closed gates
    std::deque<int> ready_;
};

}  // namespace

WaitGraph find_waits(const JobView& job, const Mismatches& mismatches) {
    return Search(job, mismatches).run();
}

}  // namespace lapwing::watch
