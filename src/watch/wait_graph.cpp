#include "watch/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "task/mpi_function.hpp"

namespace lapwing::watch {

WaitGraph::WaitGraph(const JobView& job, const Mismatches& mismatches) : job_(job), mismatches_(mismatches) {
    closed_.resize(job.ranks());
    arrived_.resize(job.ranks());
    reached_.resize(job.communicators.size());
    gates_of_.resize(job.communicators.size());
    needed_by_.resize(job.ranks());
    any_.resize(job.communicators.size());
    waits_on_.resize(job.ranks());
    collect_native_waits();
    for (const Wait& wait : job.waits) add(wait);
    for (std::vector<int>& gates : gates_of_) {
        std::sort(gates.begin(), gates.end(),
                  [this](int a, int b) { return gates_[a].wait.number < gates_[b].wait.number; });
    }
    next_gate_.resize(job.communicators.size());
    for (int gate = 0; gate < static_cast<int>(gates_.size()); ++gate) {
        if (!gates_[gate].by_calls && gates_[gate].remaining == 0) open(gate);
    }
    for (int rank = 0; rank < job.ranks(); ++rank) {
        if (closed_[rank] == 0) ready_.push_back(rank);
    }
    run();
}

std::vector<std::pair<int, int>> WaitGraph::take_cycle() {
    std::vector<std::pair<int, int>> cycle = find_cycle();
    for (const auto& [rank, gate] : cycle) ready_.push_back(rank);
    run();
    return cycle;
}

void WaitGraph::collect_native_waits() {
    for (const Wait& wait : job_.waits) {
        if (wait.kind == Wait::Kind::native)
            inside_[{wait.communicator, wait.current->function}].push_back(wait.rank);
    }
}

int WaitGraph::gate(Key key, const Wait& wait) {
    const auto [entry, added] = known_.try_emplace(std::move(key), static_cast<int>(gates_.size()));
    if (added) {
        gates_.emplace_back();
        gates_.back().wait = wait;
    }
    return entry->second;
}

void WaitGraph::join(int index, const Wait& wait, bool sure) {
    Gate& gate = gates_[index];
    if (gate.waiting.empty() || gate.waiting.back() != wait.rank) gate.waiting.push_back(wait.rank);
    gate.age = std::max(gate.age, wait.age);
    // A thread that polls, or that waits for one of several requests, may do something else meanwhile.
    const MpiFunction function = MpiFunction::of(wait.current->function);
    using Waits = MpiFunction::Waits;
    if (function.polls || function.waits == Waits::any || function.waits == Waits::some) return;
    if (!sure && wait.age < settled) return;
    ++closed_[wait.rank];
    waits_on_[wait.rank].push_back(index);
    holds_[index].push_back(wait.rank);
}

int WaitGraph::explicit_gate(Key key, const Wait& wait, const std::vector<int>& missing) {
    const std::size_t before = gates_.size();
    const int index = gate(std::move(key), wait);
    if (gates_.size() == before) return index;
    gates_[index].missing = missing;
    gates_[index].remaining = missing.size();
    for (const int rank : missing) needed_by_[rank].push_back(index);
    return index;
}

void WaitGraph::add(const Wait& wait) {
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

void WaitGraph::add_collective(const Wait& wait) {
    if (wait.number >= mismatches_.first(wait.communicator)) return;
    const CommunicatorView& view = job_.communicators[wait.communicator];
    const auto has_called = [&view, &wait](std::size_t member) {
        const CommunicatorSnapshot* const snapshot = view.snapshots[member];
        return snapshot != nullptr && snapshot->calls >= wait.number;
    };
    const auto is_missing = [this, &view, &has_called](std::size_t member) {
        return member < view.members.size() && job_.snapshot(view.members[member]) != nullptr &&
               !has_called(member);
    };
    const CollectiveCall* const call = wait.call;
    const bool rooted = call != nullptr && call->arguments.root >= 0;
    const int root = rooted ? call->arguments.root : -1;
    bool sure = false;
    if (call != nullptr) {
        // The ranks whose messages the list needs next.
        std::vector<int> awaited;
        if (call->position) {
            for (const int member : call->position->awaited) {
                if (member >= 0 && is_missing(static_cast<std::size_t>(member)))
                    awaited.push_back(view.members[member]);
            }
        }
        if (!awaited.empty()) {
            std::sort(awaited.begin(), awaited.end());
            awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
            std::string text;
            for (const int rank : awaited) text += fmt::format("{},", rank);
            gate_of_call(wait);
            return join(explicit_gate({0, wait.communicator, wait.number, -1, text}, wait, awaited), wait,
                        true);
        }
        switch (call->arguments.collective) {
            case Collective::broadcast:
            case Collective::scatter:
            case Collective::scatterv:
                if (is_missing(static_cast<std::size_t>(root))) {
                    gate_of_call(wait);
                    return join(explicit_gate({0, wait.communicator, wait.number, root, ""}, wait,
                                              {view.members[root]}),
                                wait, true);
                }
                break;
            case Collective::gather:
            case Collective::reduce: {
                const bool is_root =
                    static_cast<std::size_t>(root) < view.members.size() && view.members[root] == wait.rank;
                sure = is_root && call->arguments.bytes > 0;
                break;
            }
            case Collective::barrier:
                sure = true;
                break;
            case Collective::allgather:
            case Collective::alltoall:
            case Collective::allreduce:
            case Collective::reduce_scatter_block:
                sure = call->arguments.bytes > 0;
                break;
            default:
                break;
        }
    }
    join(gate_of_call(wait), wait, sure);
}

int WaitGraph::gate_of_call(const Wait& wait) {
    const std::size_t before = gates_.size();
    const int index = gate({1, wait.communicator, wait.number, -1, ""}, wait);
    Gate& gate = gates_[index];
    if (gates_.size() > before) {
        gate.by_calls = true;
        gate.prefix = job_.communicators[wait.communicator].count_before(wait.number);
        gates_of_[wait.communicator].push_back(index);
    }
    if (gate.waiting.empty() || gate.waiting.back() != wait.rank) gate.waiting.push_back(wait.rank);
    gate.age = std::max(gate.age, wait.age);
    return index;
}

bool WaitGraph::matches(const Wait& wait, const Wait& other) {
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

void WaitGraph::add_message(const Wait& wait) {
    if (wait.peer < 0 || wait.peer == wait.rank || job_.snapshot(wait.peer) == nullptr) return;
    for (const Wait& other : job_.waits_of(wait.peer)) {
        if (matches(wait, other)) return;
    }
    join(explicit_gate(
             {2, wait.communicator, static_cast<std::uint64_t>(wait.rank), wait.peer, wait.current->function},
             wait, {wait.peer}),
         wait, false);
}

void WaitGraph::add_message_of_anyone(const Wait& wait) {
    if (wait.communicator < 0) return;
    const CommunicatorView& view = job_.communicators[wait.communicator];
    if (view.members.size() < 2 || view.has_silent_member) return;
    const int index = gate({3, wait.communicator, static_cast<std::uint64_t>(wait.rank), -1, ""}, wait);
    gates_[index].any = true;
    gates_[index].remaining = 1;
    any_[wait.communicator].push_back(index);
    join(index, wait, false);
}

void WaitGraph::add_native(const Wait& wait) {
    const std::vector<int>& inside = inside_.at({wait.communicator, wait.current->function});
    const Key key{4, wait.communicator, 0, -1, wait.current->function};
    const auto known = known_.find(key);
    if (known != known_.end()) return join(known->second, wait, true);
    std::vector<int> missing;
    const auto consider = [this, &inside, &missing](int rank) {
        if (job_.snapshot(rank) != nullptr && !std::binary_search(inside.begin(), inside.end(), rank))
            missing.push_back(rank);
    };
    if (wait.communicator < 0) {
        for (int rank = 0; rank < job_.ranks(); ++rank) consider(rank);
    } else {
        std::vector<int> members = job_.communicators[wait.communicator].members;
        std::sort(members.begin(), members.end());
        for (const int rank : members) consider(rank);
    }
    join(explicit_gate(key, wait, missing), wait, true);
}

void WaitGraph::open(int index) {
    if (std::exchange(gates_[index].open, true)) return;
    for (const int rank : holds_[index]) {
        if (--closed_[rank] == 0 && !arrived_[rank]) ready_.push_back(rank);
    }
}

void WaitGraph::advance(int communicator) {
    const CommunicatorView& view = job_.communicators[communicator];
    std::size_t& reached = reached_[communicator];
    while (reached < view.calls.size() && arrived_[view.calls[reached].second]) ++reached;
    std::size_t& next = next_gate_[communicator];
    const std::vector<int>& gates = gates_of_[communicator];
    while (next < gates.size() && gates_[gates[next]].prefix <= reached) open(gates[next++]);
}

void WaitGraph::run() {
    for (int i = 0; i < static_cast<int>(job_.communicators.size()); ++i) advance(i);
    while (!ready_.empty()) {
        const int rank = ready_.front();
        ready_.pop_front();
        if (arrived_[rank]) continue;
        arrived_[rank] = true;
        for (const int index : needed_by_[rank]) {
            if (--gates_[index].remaining == 0) open(index);
        }
        for (const auto& [communicator, member] : job_.member_of[rank]) {
            advance(communicator);
            for (const int index : any_[communicator]) {
                if (gates_[index].wait.rank != rank) open(index);
            }
            if (std::all_of(any_[communicator].begin(), any_[communicator].end(),
                            [this](int index) { return gates_[index].open; })) {
                any_[communicator].clear();
            }
        }
    }
}

template <typename Visit>
void WaitGraph::visit_missing(const Gate& gate, Visit visit) const {
    const auto consider = [this, &gate, &visit](int rank) {
        return arrived_[rank] || (gate.any && rank == gate.wait.rank) || visit(rank);
    };
    if (gate.by_calls) {
        const auto& calls = job_.communicators[gate.wait.communicator].calls;
        for (std::size_t i = reached_[gate.wait.communicator]; i < gate.prefix; ++i) {
            if (!consider(calls[i].second)) return;
        }
    } else if (gate.any) {
        for (const int rank : job_.communicators[gate.wait.communicator].members) {
            if (!consider(rank)) return;
        }
    } else {
        for (const int rank : gate.missing) {
            if (!consider(rank)) return;
        }
    }
}

std::pair<int, int> WaitGraph::step(int rank) const {
    for (const int index : waits_on_[rank]) {
        if (gates_[index].open) continue;
        int next = -1;
        visit_missing(gates_[index], [&next](int missing) {
            next = missing;
            return false;
        });
        if (next >= 0) return {index, next};
    }
    return {-1, -1};
}

std::vector<std::pair<int, int>> WaitGraph::find_cycle() const {
    std::vector<int> walk_of(job_.ranks(), -1);
    std::vector<std::pair<int, int>> shortest;
    for (int start = 0; start < job_.ranks(); ++start) {
        int rank = start;
        while (rank >= 0 && !arrived_[rank] && walk_of[rank] < 0) {
            walk_of[rank] = start;
            rank = step(rank).second;
        }
        if (rank < 0 || arrived_[rank] || walk_of[rank] != start) continue;
        std::vector<std::pair<int, int>> cycle;
        int other = rank;
        do {
            const auto [gate, next] = step(other);
            cycle.emplace_back(other, gate);
            other = next;
        } while (other != rank);
        if (shortest.empty() || cycle.size() < shortest.size()) shortest = std::move(cycle);
    }
    constexpr std::size_t max_starts = 16;
    for (std::size_t i = 0; shortest.size() > 2 && i < shortest.size() && i < max_starts; ++i) {
        std::vector<std::pair<int, int>> cycle = shortest_through(shortest[i].first);
        if (!cycle.empty() && cycle.size() < shortest.size()) {
            shortest = std::move(cycle);
            i = 0;
        }
    }
    std::rotate(shortest.begin(), std::min_element(shortest.begin(), shortest.end()), shortest.end());
    return shortest;
}

std::vector<std::pair<int, int>> WaitGraph::shortest_through(int start) const {
    std::vector<std::pair<int, int>> from(job_.ranks(), {-1, -1});  // by rank: (rank, gate) before
    std::vector<std::size_t> seen = reached_;  // by communicator: ranks of `calls` already in the queue
    std::deque<int> queue{start};
    while (!queue.empty()) {
        const int rank = queue.front();
        queue.pop_front();
        for (const int index : waits_on_[rank]) {
            const Gate& gate = gates_[index];
            if (gate.open) continue;
            bool found = false;
            const auto visit = [&](int missing) {
                if (missing == start) {
                    found = true;
                    return false;
                }
                if (from[missing].first < 0) {
                    from[missing] = {rank, index};
                    queue.push_back(missing);
                }
                return true;
            };
            if (gate.by_calls) {
                const auto& calls = job_.communicators[gate.wait.communicator].calls;
                // `start` may be among the ranks that another gate has put into the queue.
                std::size_t& next = seen[gate.wait.communicator];
                for (; next < gate.prefix && !found; ++next) {
                    if (!arrived_[calls[next].second]) visit(calls[next].second);
                }
                if (found) --next;
            } else {
                visit_missing(gate, visit);
            }
            if (!found) continue;
            std::vector<std::pair<int, int>> cycle{{rank, index}};
            for (int other = rank; other != start; other = from[other].first) cycle.push_back(from[other]);
            std::reverse(cycle.begin(), cycle.end());
            return cycle;
        }
    }
    return {};
}

}  // namespace lapwing::watch
