#include "task/chain_receives.hpp"

#include <algorithm>
#include <utility>

namespace lapwing {

ChainReceives::ChainReceives(const List& list, const ChainLimits& limits, const HostSequence& host) {
    find_tail(list);
    const int groups = find_receives(list, host);
    for (PeerReceives& peer : peers_) {
        peer.among_sends = peer.bytes <= limits.eager_bytes;
        for (PlannedReceive& receive : peer.receives) {
            if (receive.group >= groups) receive.group = -1;
        }
    }
    choose_gates(limits);
}

PeerReceives& ChainReceives::of(int peer) {
    const auto [found, added] = index_.try_emplace(peer, peers_.size());
    if (added) peers_.emplace_back().rank = peer;
    return peers_[found->second];
}

void ChainReceives::find_tail(const List& list) {
    tail_ = list.tasks.size();
    while (tail_ > 0 &&
           (list.tasks[tail_ - 1].kind == Kind::copy || list.tasks[tail_ - 1].kind == Kind::reduce))
        --tail_;
}

// Finds the wait that completes each receive. Adjacent waits form one group. Returns the number of groups
// that are followed by a send, or by a copy or reduction that is not at the end of the list.
int ChainReceives::find_receives(const List& list, const HostSequence& host) {
    std::vector<std::size_t> waited;  // receives of each peer
    int groups = 0;
    int followed = 0;
    bool in_group = false;
    for (std::uint32_t i = 0; i < list.tasks.size(); ++i) {
        const Task& task = list.tasks[i];
        if (host.takes(task)) continue;  // the processor waits at no gate
        if (task.kind == Kind::recv) {
            PeerReceives& peer = of(task.peer);
            peer.receives.push_back({i, task.target});
            peer.bytes += std::max<std::uint64_t>(task.target.length, 1);
            in_group = false;
        } else if (task.kind == Kind::wait) {
            if (!in_group) ++groups;
            in_group = true;
            if (task.count == 0) continue;
            PeerReceives& peer = of(task.peer);
            waited.resize(peers_.size(), 0);
            std::size_t& next = waited[index_[task.peer]];
            for (std::uint64_t n = 0; n < task.count; ++n) peer.receives[next++].group = groups - 1;
        } else {
            in_group = false;
            if (i < tail_) followed = groups;
        }
    }
    return followed;
}

// Gates belong to groups of waits, or to peers: whichever needs fewer gates. Either way, a gate's signals
// arrive in the order of its awaits. The messages of a peer for one group need one signal, after the last
// message.
void ChainReceives::choose_gates(const ChainLimits& limits) {
    using Signals = std::unordered_map<int, std::uint64_t>;   // by group, or by the peer's place
    std::vector<std::pair<PlannedReceive*, int>> signalling;  // with its peer's place
    Signals of_group;
    Signals of_peer;
    for (std::size_t place = 0; place < peers_.size(); ++place) {
        std::vector<PlannedReceive>& receives = peers_[place].receives;
        if (peers_[place].among_sends) continue;
        for (std::size_t i = 0; i < receives.size() && receives[i].group >= 0; ++i) {
            if (i + 1 < receives.size() && receives[i + 1].group == receives[i].group) continue;
            signalling.emplace_back(&receives[i], static_cast<int>(place));
            ++of_group[receives[i].group];
            ++of_peer[static_cast<int>(place)];
        }
    }
    const std::uint64_t max_signals = std::max<std::uint64_t>(limits.gate_signals, 1);
    const auto gates_for = [max_signals](const Signals& signals) {
        std::uint64_t gates = 0;
        for (const auto& [owner, count] : signals) gates += (count - 1) / max_signals + 1;
        return gates;
    };
    const bool by_group = gates_for(of_group) <= gates_for(of_peer);
    struct Owner {
        std::uint64_t signals = 0;
        int gate = -1;  // the one in use
    };
    std::unordered_map<int, Owner> owners;
    for (const auto& [receive, place] : signalling) {
        Owner& owner = owners[by_group ? receive->group : place];
        if (owner.signals++ % max_signals == 0) owner.gate = gates_++;
        receive->gate = owner.gate;
    }
}

}  // namespace lapwing
