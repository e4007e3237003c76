#include "task/chains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "task/list.hpp"
#include "task/peer_numbers.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

// If some peers of a list are intra-node, the processor has a sequence of its own: messages of intra-node
// peers, which use another link, and copies and reductions. The processor runs them in list order, beside the
// chain of sends, whose peers are then all inter-node. Each side waits for the other only where the list
// requires it:
//
// - An inter-node send waits for all earlier tasks of the processor except intra-node sends. Therefore an
//   intra-node wait, a copy or a reduction between inter-node sends starts a new stage.
// - A task of the processor waits for the inter-node receives that the list waits for before the task. The
//   sequence has a wait for that inter-node peer, which counts receives from the beginning of the list. The
//   processor checks receives itself and needs no gate.
//
// Returns whether the task belongs to that sequence. `intra_node`: empty if the list has no intra-node peer.
bool is_beside_sends(const std::vector<bool>& intra_node, const Task& task) {
    return !intra_node.empty() &&
           (task.kind == Kind::copy || task.kind == Kind::reduce || is_intra_node(intra_node, task));
}

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
    std::size_t waited = 0;    // receives whose wait has been found
    std::size_t taken = 0;     // receives whose wait has been lowered
};

// The receives of a list, except those of intra-node peers: which of them are placed among the sends, which
// wait completes which receive, and the gates that they need.
class ChainReceives {
  public:
    // Throws Error (invalid_argument) if the waits are not those of the receives.
    ChainReceives(const List& list, const ChainLimits& limits, const std::vector<bool>& intra_node) {
        tail_ = list.tasks.size();
        while (tail_ > 0 &&
               (list.tasks[tail_ - 1].kind == Kind::copy || list.tasks[tail_ - 1].kind == Kind::reduce))
            --tail_;
        const int groups = find_receives(list, intra_node);
        for (PeerReceives& peer : peers_) {
            if (peer.waited < peer.receives.size())
                throw_invalid("a list has a receive that it does not wait for");
            peer.among_sends = peer.bytes <= limits.eager_bytes;
            for (PlannedReceive& receive : peer.receives) {
                if (receive.group >= groups) receive.group = -1;
            }
        }
        choose_gates(limits);
    }

    // In the order of their first occurrence in the list.
    const std::vector<PeerReceives>& peers() const { return peers_; }
    PeerReceives& of(int peer) {
        const std::size_t number = numbers_.of(peer);
        if (number == peers_.size()) peers_.emplace_back().rank = peer;
        return peers_[number];
    }
    int gates() const { return gates_; }
    // The index of the first of the copies and reductions at the end of the list.
    std::size_t tail() const { return tail_; }

  private:
    // Finds the wait that completes each receive. Adjacent waits form one group. Returns the number of groups
    // that are followed by a send, or by a copy or reduction that is not at the end of the list.
    int find_receives(const List& list, const std::vector<bool>& intra_node) {
        int groups = 0;
        int followed = 0;
        bool in_group = false;
        for (std::uint32_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            if (is_beside_sends(intra_node, task)) continue;  // the processor waits at no gate
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
                if (task.count > peer.receives.size() - peer.waited)
                    throw_invalid("a list waits for a receive that it has not posted");
                for (std::uint64_t n = 0; n < task.count; ++n)
                    peer.receives[peer.waited++].group = groups - 1;
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
    void choose_gates(const ChainLimits& limits) {
        std::vector<std::pair<PlannedReceive*, int>> signalling;  // with its peer's place
        for (std::size_t place = 0; place < peers_.size(); ++place) {
            std::vector<PlannedReceive>& receives = peers_[place].receives;
            if (peers_[place].among_sends) continue;
            for (std::size_t i = 0; i < receives.size() && receives[i].group >= 0; ++i) {
                if (i + 1 < receives.size() && receives[i + 1].group == receives[i].group) continue;
                signalling.emplace_back(&receives[i], static_cast<int>(place));
            }
        }
        const std::uint64_t max_signals = std::max<std::uint64_t>(limits.gate_signals, 1);
        struct Owner {
            std::uint64_t signals = 0;
            int gate = -1;  // the one in use
        };
        const auto number_gates = [&](bool by_group) {
            int gates = 0;
            std::unordered_map<int, Owner> owners;
            for (const auto& [receive, place] : signalling) {
                Owner& owner = owners[by_group ? receive->group : place];
                if (owner.signals++ % max_signals == 0) owner.gate = gates++;
                receive->gate = owner.gate;
            }
            return gates;
        };
        const int of_peers = number_gates(false);
        gates_ = number_gates(true);
        if (of_peers < gates_) gates_ = number_gates(false);
    }

    std::vector<PeerReceives> peers_;
    PeerNumbers numbers_;  // index in peers_
    std::size_t tail_ = 0;
    int gates_ = 0;
};

class Lowering {
  public:
    Lowering(const List& list, const ChainLimits& limits, const std::vector<bool>& intra_node)
        : list_(list),
          limits_(limits),
          intra_node_(std::ranges::any_of(list.tasks,
                                          [&](const Task& task) { return is_intra_node(intra_node, task); })
                          ? intra_node
                          : std::vector<bool>()),
          receives_(list, limits, intra_node_) {
        chains_.rank = list.rank;
        chains_.ranks = list.ranks;
        chains_.in_bytes = list.in_bytes;
        chains_.out_bytes = list.out_bytes;
        chains_.scratch_bytes = list.scratch_bytes;
        chains_.gates = receives_.gates();
    }

    Chains run() {
        chains_.stages.emplace_back();
        for (std::uint32_t i = 0; i < list_.tasks.size(); ++i) add(list_.tasks[i], i);
        finish_stage();
        for (const PeerReceives& peer : receives_.peers()) {
            if (!peer.among_sends) add_receives(peer);
        }
        return std::move(chains_);
    }

  private:
    void add(const Task& task, std::uint32_t index) {
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv) {
            throw_invalid(fmt::format("only lowering makes {}: a list must not hold it", print(task)));
        }
        if (is_beside_sends(intra_node_, task)) {
            add_beside(task, chains_.stages.back());
        } else if (sends(task.kind)) {
            if (next_send_waits_) next_stage();
            add_message(sending_, Step::Kind::send, task.peer, task.source, index);
        } else if (task.kind == Kind::wait) {
            if (task.count > 0) add_wait(task, index);
        } else if (task.kind != Kind::recv) {
            add_local(task, index);
        }
    }

    // Before the first wait of a stage, local work may overtake the stage's sends: they do not write, and
    // local work does not write their sources, nor targets of pending receives (rule hazard).
    void add_local(const Task& task, std::uint32_t index) {
        if (waits_in_stage_) {
            if (index >= receives_.tail()) {
                chains_.last.push_back(task);
                return;
            }
            next_stage();
        }
        chains_.stages.back().local.push_back(task);
    }

    void add_wait(const Task& task, std::uint32_t index) {
        waits_in_stage_ = true;
        PeerReceives& peer = receives_.of(task.peer);
        for (std::uint64_t n = 0; n < task.count; ++n) {
            const PlannedReceive& receive = peer.receives[peer.taken++];
            if (peer.among_sends) {
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
        if (!intra_node_.empty()) await_beside(task.peer, peer.taken);
    }

    // Before the first wait of a stage, copies, reductions and intra-node sends may overtake the stage's
    // sends. An intra-node wait may not, because the sends must not wait for it.
    void add_beside(const Task& task, Stage& stage) {
        const bool is_wait = task.kind == Kind::wait;
        if (is_wait && task.count == 0) return;
        if (!waits_in_stage_ && stage.beside.empty() && (!is_wait || sending_.empty())) {
            stage.local.push_back(task);
            return;
        }
        stage.beside.insert(stage.beside.end(), awaited_.begin(), awaited_.end());
        awaited_.clear();
        stage.beside.push_back(task);
        next_send_waits_ = next_send_waits_ || (task.kind != Kind::recv && !sends(task.kind));
    }

    // The list has waited for the first `receives` receives of an inter-node peer.
    void await_beside(int peer, std::uint64_t receives) {
        std::size_t& index = awaited_index_[peer];
        if (index >= awaited_.size() || awaited_[index].peer != peer) {
            index = awaited_.size();
            Task& wait = awaited_.emplace_back();
            wait.kind = Kind::wait;
            wait.peer = peer;
        }
        awaited_[index].count = receives;
    }

    void add_receives(const PeerReceives& peer) {
        Chain chain;
        for (const PlannedReceive& receive : peer.receives) {
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
            const std::uint64_t max_part = std::max<std::uint64_t>(limits_.step_bytes, 1);
            const std::uint64_t part = std::min(span.length - done, max_part);
            const Span part_span = span.part(done, part);
            done += part;
            chain.push_back({kind, peer, -1, 0, part_span, task, done == span.length});
        } while (done < span.length);
    }

    void next_stage() {
        finish_stage();
        chains_.stages.emplace_back();
    }

    void finish_stage() {
        if (!sending_.empty()) cut(std::move(sending_), chains_.stages.back().chains);
        sending_.clear();
        waits_in_stage_ = next_send_waits_ = false;
    }

    void cut(Chain chain, std::vector<Chain>& pieces) {
        const std::size_t max_steps = std::max<std::size_t>(limits_.chain_steps, 3);
        if (!chain.empty() && chain.size() <= max_steps) {
            pieces.push_back(std::move(chain));
            return;
        }
        std::size_t at = 0;
        bool continues = false;
        while (at < chain.size()) {
            Chain piece;
            if (continues) piece.push_back({Step::Kind::await, -1, chains_.gates - 1, 1, {}, chain[at].task});
            // The last piece has no signal, and room for one more step.
            const std::size_t room = max_steps - piece.size();
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
    const std::vector<bool> intra_node_;  // by rank; empty if the list has no intra-node peer
    ChainReceives receives_;
    Chains chains_;
    Chain sending_;  // of the current stage
    bool waits_in_stage_ = false;
    bool next_send_waits_ = false;  // for the processor, and begins a new stage
    std::vector<Task> awaited_;     // waits for inter-node peers since the last task beside the sends
    std::unordered_map<int, std::size_t> awaited_index_;  // peer to index in awaited_
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
        print_local(text, i == 0 ? "CPU, at the start" : "CPU, then", stage.local);
        for (const Chain& chain : stage.chains) print_chain(text, "sending chain", chain);
        print_local(text, "CPU, meanwhile", stage.beside);
    }
    print_local(text, "CPU, at the end", chains.last);
    return text;
}

}  // namespace lapwing
