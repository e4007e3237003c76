#include "task/chains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

bool is_local(Kind kind) {
    return kind == Kind::copy || kind == Kind::reduce;
}

// Waits that follow one another directly are one group.
struct Receive {
    std::uint32_t task = 0;
    Span span;
    int group = -1;  // of the wait that takes it; -1: it is complete when the list is
    int gate = -1;   // that it signals; -1: none, or the next receive of its peer signals for both
};

struct Peer {
    int rank = 0;
    std::uint64_t bytes = 0;  // on the connection, in the whole list
    std::vector<Receive> receives;
    std::size_t waited = 0;
    bool in_line = false;     // its receives stand in the sending chain
    std::size_t awaited = 0;  // its place among the inter-node waits that the processor has before it
};

class Lowering {
  public:
    Lowering(const List& list, const ChainLimits& limits, const std::vector<bool>& intra_node)
        : list_(list), limits_(limits), near_(intra_node) {
        has_near_ = std::any_of(list.tasks.begin(), list.tasks.end(),
                                [this](const Task& task) { return is_intra_node(task); });
        chains_.rank = list.rank;
        chains_.ranks = list.ranks;
        chains_.in_bytes = list.in_bytes;
        chains_.out_bytes = list.out_bytes;
        chains_.scratch_bytes = list.scratch_bytes;
        find_receives();
        choose_gates();
    }

    Chains run() {
        chains_.stages.emplace_back();
        for (std::uint32_t i = 0; i < list_.tasks.size(); ++i) add(list_.tasks[i], i);
        finish_stage();
        for (const Peer& peer : peers_) {
            if (!peer.in_line && !peer.receives.empty()) add_receives(peer);
        }
        return std::move(chains_);
    }

  private:
    bool is_intra_node(int rank) const {
        return rank >= 0 && static_cast<std::size_t>(rank) < near_.size() &&
               near_[static_cast<std::size_t>(rank)];
    }
    bool is_intra_node(const Task& task) const { return is_intra_node(task.peer); }

    Peer& peer_of(int rank) {
        const auto [place, added] = index_.try_emplace(rank, peers_.size());
        if (added) peers_.emplace_back().rank = rank;
        return peers_[place->second];
    }

    // Which wait takes which receive, and which waits have something after them.
    void find_receives() {
        tail_ = list_.tasks.size();
        while (tail_ > 0 && is_local(list_.tasks[tail_ - 1].kind)) --tail_;
        int groups = 0;
        bool in_group = false;
        for (std::uint32_t i = 0; i < list_.tasks.size(); ++i) {
            const Task& task = list_.tasks[i];
            const bool intra_node = is_intra_node(task);
            if (task.kind == Kind::recv) {
                Peer& peer = peer_of(task.peer);
                peer.receives.push_back({i, task.target, -1});
                peer.bytes += std::max<std::uint64_t>(task.target.length, 1);
            }
            if (task.kind != Kind::wait) {
                // Where the processor has a line of its own, nothing but sends waits at gates.
                if (has_near_ && (intra_node || !sends(task.kind))) continue;
                in_group = false;
                if (task.kind != Kind::recv && i < tail_) groups_that_matter_ = groups;
                continue;
            }
            if (!intra_node && !in_group) ++groups;
            in_group = in_group || !intra_node;
            Peer& peer = peer_of(task.peer);
            if (peer.receives.size() - peer.waited < task.count) {
                throw Error(ErrorCode::invalid_argument, "a list waits for a receive that it has not posted");
            }
            for (std::uint64_t n = 0; n < task.count; ++n) peer.receives[peer.waited++].group = groups - 1;
        }
        for (Peer& peer : peers_) {
            if (peer.waited < peer.receives.size()) {
                throw Error(ErrorCode::invalid_argument, "a list has a receive that it does not wait for");
            }
        }
        if (has_near_) leave_out_intra_node_peers();
        for (Peer& peer : peers_) {
            peer.in_line = !peer.receives.empty() && peer.bytes <= limits_.eager_bytes;
            for (Receive& receive : peer.receives) {
                if (receive.group >= groups_that_matter_) receive.group = -1;
            }
        }
    }

    void leave_out_intra_node_peers() {
        std::erase_if(peers_, [this](const Peer& peer) { return is_intra_node(peer.rank); });
        index_.clear();
        for (std::size_t place = 0; place < peers_.size(); ++place) index_[peers_[place].rank] = place;
    }

    // What takes its turn at the gates of one owner, a group of waits or a peer.
    struct Gates {
        std::uint64_t signals = 0;
        int gate = -1;  // the one in use
    };

    // Gates belong to groups of waits, or to peers: whichever needs fewer. In both ways a gate's signals come
    // in the order in which they are awaited. What a peer sends for one group needs one signal: its last.
    void choose_gates() {
        std::vector<std::pair<Receive*, int>> signalling;  // with its peer's place
        std::unordered_map<int, std::uint64_t> of_group;
        std::unordered_map<int, std::uint64_t> of_peer;
        for (std::size_t place = 0; place < peers_.size(); ++place) {
            std::vector<Receive>& receives = peers_[place].receives;
            if (peers_[place].in_line) continue;
            for (std::size_t i = 0; i < receives.size() && receives[i].group >= 0; ++i) {
                if (i + 1 < receives.size() && receives[i + 1].group == receives[i].group) continue;
                signalling.emplace_back(&receives[i], static_cast<int>(place));
                ++of_group[receives[i].group];
                ++of_peer[static_cast<int>(place)];
            }
        }
        const bool by_group = gates_for(of_group) <= gates_for(of_peer);
        std::unordered_map<int, Gates> owners;
        for (const auto& [receive, place] : signalling) {
            Gates& of = owners[by_group ? receive->group : place];
            if (of.signals++ % most_signals() == 0) of.gate = chains_.gates++;
            receive->gate = of.gate;
        }
    }

    std::uint64_t most_signals() const { return std::max<std::uint64_t>(limits_.gate_signals, 1); }

    std::uint64_t gates_for(const std::unordered_map<int, std::uint64_t>& signals) const {
        std::uint64_t gates = 0;
        for (const auto& [owner, count] : signals) gates += (count - 1) / most_signals() + 1;
        return gates;
    }

    void add(const Task& task, std::uint32_t index) {
        switch (task.kind) {
            case Kind::recv:
                if (is_intra_node(task)) add_host_step(task);
                return;
            case Kind::send:
                if (is_intra_node(task)) return add_host_step(task);
                if (holds_) {
                    finish_stage();
                    chains_.stages.emplace_back();
                }
                add_message(sending_, Step::Kind::send, task.peer, task.source, index);
                return;
            case Kind::wait:
                if (task.count == 0) return;
                if (is_intra_node(task)) return add_host_step(task);
                add_wait(task, index);
                return;
            case Kind::copy:
            case Kind::reduce:
                if (has_near_) return add_host_step(task);
                // Before the first wait of a stage it may overtake the stage's sends: they do not write, and
                // it does not write what they read, nor anything that a receive may still write (rule
                // hazard).
                if (waits_in_stage_) {
                    if (index >= tail_) {
                        chains_.last.push_back(task);
                        return;
                    }
                    finish_stage();
                    chains_.stages.emplace_back();
                }
                chains_.stages.back().local.push_back(task);
                return;
            case Kind::enable_send:
            case Kind::enable_recv:
                break;
        }
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{} is made by lowering only: a list that holds it is not lowered", print(task)));
    }

    // Into the line of the processor, where some peers are intra-node. As above, copies, reductions and
    // intra-node sends may overtake the stage's sends before its first wait; an intra-node wait may not, the
    // sends shall not wait for it.
    void add_host_step(const Task& task) {
        Stage& stage = chains_.stages.back();
        const bool is_wait = task.kind == Kind::wait;
        if (!waits_in_stage_ && stage.beside.empty() && (sending_.empty() || !is_wait)) {
            stage.local.push_back(task);
            return;
        }
        for (const Task& inter_node : awaited_) stage.beside.push_back(inter_node);
        awaited_.clear();
        stage.beside.push_back(task);
        holds_ = holds_ || is_wait || is_local(task.kind);
    }

    // For what the processor does next.
    void await_inter_node(Peer& peer, std::uint64_t count) {
        if (peer.awaited >= awaited_.size() || awaited_[peer.awaited].peer != peer.rank) {
            peer.awaited = awaited_.size();
            Task& task = awaited_.emplace_back();
            task.kind = Kind::wait;
            task.peer = peer.rank;
        }
        awaited_[peer.awaited].count = count;
    }

    void add_wait(const Task& task, std::uint32_t index) {
        waits_in_stage_ = true;
        Peer& peer = peer_of(task.peer);
        std::size_t& taken = taken_[task.peer];
        for (std::uint64_t n = 0; n < task.count; ++n) {
            const Receive& receive = peer.receives[taken++];
            if (peer.in_line) {
                add_message(sending_, Step::Kind::receive, task.peer, receive.span, receive.task);
            } else if (receive.gate >= 0) {
                if (!sending_.empty() && sending_.back().kind == Step::Kind::await &&
                    sending_.back().gate == receive.gate) {
                    ++sending_.back().count;
                } else {
                    sending_.push_back({Step::Kind::await, -1, receive.gate, 1, {}, index});
                }
            }
        }
        if (has_near_) await_inter_node(peer, taken);
    }

    void add_receives(const Peer& peer) {
        Chain chain;
        for (const Receive& receive : peer.receives) {
            add_message(chain, Step::Kind::receive, peer.rank, receive.span, receive.task);
            if (receive.gate >= 0) {
                chain.push_back({Step::Kind::signal, -1, receive.gate, 0, {}, receive.task});
            }
        }
        cut(std::move(chain), chains_.receives);
    }

    void add_message(Chain& chain, Step::Kind kind, int peer, const Span& span, std::uint32_t task) const {
        std::uint64_t done = 0;
        do {
            const std::uint64_t most = std::max<std::uint64_t>(limits_.step_bytes, 1);
            const std::uint64_t part = std::min(span.length - done, most);
            chain.push_back({kind, peer, -1, 0, span.part(done, part), task});
            done += part;
        } while (done < span.length);
    }

    void finish_stage() {
        if (!sending_.empty()) cut(std::move(sending_), chains_.stages.back().chains);
        sending_.clear();
        waits_in_stage_ = false;
        holds_ = false;
    }

    void cut(Chain chain, std::vector<Chain>& pieces) {
        const std::size_t most = std::max<std::size_t>(limits_.chain_steps, 3);
        std::size_t at = 0;
        bool continues = false;
        while (at < chain.size()) {
            Chain piece;
            if (continues) piece.push_back({Step::Kind::await, -1, chains_.gates - 1, 1, {}, chain[at].task});
            // One more step may take the place of the signal when it is the last.
            const std::size_t room = most - piece.size();
            const std::size_t left = chain.size() - at;
            const std::size_t taken = left <= room ? left : room - 1;
            const auto from = chain.begin() + static_cast<std::ptrdiff_t>(at);
            piece.insert(piece.end(), from, from + static_cast<std::ptrdiff_t>(taken));
            at += taken;
            continues = at < chain.size();
            if (continues) {
                piece.push_back({Step::Kind::signal, -1, chains_.gates++, 0, {}, chain[at].task});
            }
            pieces.push_back(std::move(piece));
        }
    }

    const List& list_;
    const ChainLimits& limits_;
    const std::vector<bool>& near_;
    bool has_near_ = false;  // some tasks are of intra-node peers
    Chains chains_;
    std::vector<Peer> peers_;
    std::unordered_map<int, std::size_t> index_;  // rank to its place in peers_
    std::unordered_map<int, std::size_t> taken_;  // receives of a peer whose wait has been added
    int groups_that_matter_ = 0;  // groups of waits that a send follows, or local work that is not the last
    std::size_t tail_ = 0;        // where the local work at the end begins
    Chain sending_;
    bool waits_in_stage_ = false;
    bool holds_ = false;         // beside the stage's chains stands what the next send must wait for
    std::vector<Task> awaited_;  // inter-node waits since what the processor did last
};

void print_chain(std::string& text, const std::string& title, const Chain& chain) {
    text += fmt::format("  {}\n", title);
    for (const Step& step : chain) text += fmt::format("    {}\n", print(step));
}

void print_local(std::string& text, const char* title, const std::vector<Task>& local) {
    if (local.empty()) return;
    text += fmt::format("  {}\n", title);
    for (const Task& task : local) text += fmt::format("    {}\n", print(task));
}

}  // namespace

Verdict has_chains(const List& list) {
    bool top = true;
    for (const Task& task : list.tasks) {
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv) {
            return Verdict::no("the list holds enable tasks, which are made by lowering only");
        }
        if (task.kind != Kind::recv) {
            top = false;
        } else if (!top) {
            return Verdict::no("a receive stands below the top of the list");
        }
    }
    return Verdict::yes();
}

Chains lower_to_chains(const List& list, const ChainLimits& limits, const std::vector<bool>& intra_node) {
    return Lowering(list, limits, intra_node).run();
}

std::vector<bool> intra_node_peers(std::span<const int> hosts, int rank) {
    std::vector<bool> intra_node(hosts.size(), false);
    for (std::size_t peer = 0; peer < hosts.size(); ++peer) {
        intra_node[peer] =
            static_cast<int>(peer) != rank && hosts[peer] == hosts[static_cast<std::size_t>(rank)];
    }
    return intra_node;
}

std::string print(const Step& step) {
    const auto bytes = [&] {
        return step.span.length == 0 ? std::string("a signal") : lapwing::print(step.span);
    };
    switch (step.kind) {
        case Step::Kind::send:
            return fmt::format("send {} {}", step.peer, bytes());
        case Step::Kind::receive:
            return fmt::format("receive {} {}", step.peer, bytes());
        case Step::Kind::signal:
            return fmt::format("signal gate {}", step.gate);
        case Step::Kind::await:
            return fmt::format("await gate {} {}", step.gate, step.count);
    }
    return "";
}

std::string print(const Chains& chains) {
    std::string text = fmt::format("chains of rank {} of {}\n", chains.rank, chains.ranks);
    int peer = -1;  // also of the pieces that follow the first, which need not name it
    for (const Chain& chain : chains.receives) {
        for (const Step& step : chain) peer = step.peer >= 0 ? step.peer : peer;
        print_chain(text, fmt::format("receive chain from {}", peer), chain);
    }
    for (std::size_t i = 0; i < chains.stages.size(); ++i) {
        const Stage& stage = chains.stages[i];
        print_local(text, i == 0 ? "the processor, at the start" : "the processor, then", stage.local);
        for (const Chain& chain : stage.chains) print_chain(text, "sending chain", chain);
        print_local(text, "the processor, meanwhile", stage.beside);
    }
    print_local(text, "the processor, at the end", chains.last);
    return text;
}

}  // namespace lapwing
