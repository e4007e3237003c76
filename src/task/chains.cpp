#include "task/chains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "task/chain_receives.hpp"
#include "task/host_sequence.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

void check_waits(const List& list) {
    std::unordered_map<int, std::uint64_t> open;  // receives of each peer without a wait so far
    for (const Task& task : list.tasks) {
        if (task.kind == Kind::recv) ++open[task.peer];
        if (task.kind != Kind::wait) continue;
        std::uint64_t& of_peer = open[task.peer];
        if (of_peer < task.count)
            throw Error(ErrorCode::invalid_argument, "a list waits for a receive that it has not posted");
        of_peer -= task.count;
    }
    if (std::any_of(open.begin(), open.end(), [](const auto& peer) { return peer.second > 0; }))
        throw Error(ErrorCode::invalid_argument, "a list has a receive that it does not wait for");
}

class Lowering {
  public:
    Lowering(const List& list, const ChainLimits& limits, const std::vector<bool>& intra_node)
        : list_(list), limits_(limits), host_(list, intra_node), receives_(list, limits, host_) {
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
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("only lowering makes {}: a list must not hold it", print(task)));
        }
        if (host_.takes(task)) {
            host_.add(task, chains_.stages.back(), {.sends = !sending_.empty(), .waits = waits_in_stage_});
        } else if (sends(task.kind)) {
            if (host_.next_send_waits()) next_stage();
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
        host_.note_wait(task.peer, peer.taken);
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
            chain.push_back({kind, peer, -1, 0, span.part(done, part), task});
            done += part;
        } while (done < span.length);
    }

    void next_stage() {
        finish_stage();
        chains_.stages.emplace_back();
    }

    void finish_stage() {
        if (!sending_.empty()) cut(std::move(sending_), chains_.stages.back().chains);
        sending_.clear();
        waits_in_stage_ = false;
        host_.finish_stage();
    }

    void cut(Chain chain, std::vector<Chain>& pieces) {
        const std::size_t max_steps = std::max<std::size_t>(limits_.chain_steps, 3);
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
    HostSequence host_;
    ChainReceives receives_;
    Chains chains_;
    Chain sending_;  // of the current stage
    bool waits_in_stage_ = false;
};

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
    check_waits(list);
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

}  // namespace lapwing
