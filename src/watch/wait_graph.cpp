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
          needed_by_(job.ranks()) {
        graph_.gates_of.resize(job.communicators.size());
        for (const Wait& wait : job.waits) {
            if (wait.kind == Wait::Kind::native)
                inside_[{wait.communicator, wait.current->function}].push_back(wait.rank);
        }
        for (const Wait& wait : job.waits) add(wait);
        for (std::vector<int>& gates : graph_.gates_of)
            std::ranges::sort(gates, {}, [this](int index) { return graph_.gates[index].wait.number; });
        for (int index = 0; index < static_cast<int>(graph_.gates.size()); ++index) {
            if (graph_.gates[index].remaining == 0) open(index);
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
            for (const Wait* const wait : cycle) ready_.push_back(wait->rank);
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

    // The gate opens when `count` of these ranks have arrived.
    void require(int index, std::vector<int> missing, std::size_t count) {
        for (const int rank : missing) needed_by_[rank].push_back(index);
        graph_.gates[index].remaining = count;
        graph_.gates[index].missing = std::move(missing);
    }
    void require_all(int index, std::vector<int> missing) {
        const std::size_t all = missing.size();
        require(index, std::move(missing), all);
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
        waits_on_[wait.rank].emplace_back(index, &wait);
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
            std::vector<int> missing;
            for (std::size_t i = 0; i < view.count_before(wait.number); ++i)
                missing.push_back(view.calls[i].second);
            require_all(all, std::move(missing));
            graph_.gates[all].of_call = true;
            graph_.gates_of[wait.communicator].push_back(all);
        }
        if (needed.empty()) return join(all, wait, sure);
        count(graph_.gates[all], wait);
        std::ranges::sort(needed);
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        const auto [some, first] = gate(wait, wait.number, needed);
        if (first) require_all(some, std::move(needed));
        join(some, wait, true);
    }

    void add_message(const Wait& wait) {
        if (wait.peer < 0 || wait.peer == wait.rank || job_.snapshot(wait.peer) == nullptr) return;
        for (const Wait& other : job_.waits_of(wait.peer)) {
            if (matches(wait, other)) return;
        }
        const auto [index, added] = gate(wait, wait.rank, {wait.peer}, wait.current->function);
        if (added) require_all(index, {wait.peer});
        join(index, wait, false);
    }

    void add_message_of_anyone(const Wait& wait) {
        if (wait.communicator < 0) return;
        const CommunicatorView& view = job_.communicators[wait.communicator];
        if (view.members.size() < 2 || view.has_silent_member) return;
        // A rank of the gate does not arrive before the gate is open: it does not open the gate for itself.
        const auto [index, added] = gate(wait, 0);
        if (added) require(index, view.members, 1);
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
            require_all(index, std::move(missing));
        }
        join(index, wait, true);
    }

    void open(int index) {
        if (std::exchange(graph_.gates[index].open, true)) return;
        for (const int rank : holds_[index]) {
            if (--closed_[rank] == 0 && !arrived_[rank]) ready_.push_back(rank);
        }
    }

    void let_arrive() {
        while (!ready_.empty()) {
            const int rank = ready_.front();
            ready_.pop_front();
            if (arrived_[rank]) continue;
            arrived_[rank] = true;
            for (const int index : needed_by_[rank]) {
                std::size_t& remaining = graph_.gates[index].remaining;
                if (remaining > 0 && --remaining == 0) open(index);
            }
        }
    }

    // Walks along first missing ranks, which ends in a cycle. Returns an empty cycle if all ranks have
    // arrived, or if a snapshot is wrong.
    Cycle find_cycle() const {
        Cycle walk;
        auto rank = static_cast<int>(std::ranges::find(arrived_, false) - arrived_.begin());
        if (rank == job_.ranks()) return walk;
        for (;;) {
            const auto known = std::ranges::find(walk, rank, &Wait::rank);
            if (known != walk.end()) {
                walk.erase(walk.begin(), known);
                std::rotate(walk.begin(), std::ranges::min_element(walk, {}, &Wait::rank), walk.end());
                return walk;
            }
            const auto [index, wait] = *std::ranges::find_if(
                waits_on_[rank], [this](const auto& one) { return !graph_.gates[one.first].open; });
            walk.push_back(wait);
            const auto is_missing = [&](int other) { return !arrived_[other] && other != rank; };
            const std::vector<int>& missing = graph_.gates[index].missing;
            const auto next = std::ranges::find_if(missing, is_missing);
            if (next == missing.end()) return {};
            rank = *next;
        }
    }

    const JobView& job_;
    const Mismatches& mismatches_;
    WaitGraph graph_;
    std::map<Key, int> known_;
    std::map<std::pair<int, std::string>, std::vector<int>> inside_;  // of native collectives: ranks
    std::map<int, std::vector<int>> holds_;                           // by gate: ranks that wait for it
    std::vector<std::vector<std::pair<int, const Wait*>>> waits_on_;  // by rank: gates, and its waits there
    std::vector<int> closed_;                                         // by rank: closed gates
    std::vector<bool> arrived_;                                       // by rank
    std::vector<std::vector<int>> needed_by_;                         // by rank: gates
    std::deque<int> ready_;
};

}  // namespace

WaitGraph find_waits(const JobView& job, const Mismatches& mismatches) {
    return Search(job, mismatches).run();
}

}  // namespace lapwing::watch
