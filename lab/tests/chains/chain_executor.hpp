// Runs chain forms on real bytes in a random order, over connections that hold few. It knows nothing of the
// checker's model, whose word it is held against.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "task/chains.hpp"
#include "task/memories.hpp"

namespace lapwing {

class ChainExecutor {
  public:
    // Ranks of one of `hosts`, where there are any, are intra-node to each other. A rank that is `late` does
    // not begin at all; -1 for none.
    ChainExecutor(const Problem& problem, const std::vector<Chains>& chains, std::span<const int> hosts,
                  std::uint64_t capacity, std::mt19937& random, int late = -1)
        : problem_(problem),
          chains_(chains),
          hosts_(hosts),
          capacity_(capacity),
          random_(random),
          ranks_(chains.size()),
          memories_(problem, chains, random) {
        for (int rank = 0; rank < count(); ++rank) {
            ranks_[rank].gates.resize(static_cast<std::size_t>(chains[rank].gates));
            const auto count_bytes = [&](const Chain& chain) {
                for (const Step& step : chain) {
                    if (step.kind == Step::Kind::receive)
                        ranks_[rank].left[step.task] += std::max<std::uint64_t>(step.span.length, 1);
                }
            };
            for (const Chain& chain : chains[rank].receives) count_bytes(chain);
            for (const Stage& stage : chains[rank].stages) {
                for (const Chain& chain : stage.chains) count_bytes(chain);
            }
            if (rank == late) continue;
            ranks_[rank].begun = true;
            for (const Chain& chain : chains[rank].receives) lines_.push_back({rank, -1, &chain});
        }
    }

    // Whether all came to their end and hold what the problem asks for.
    bool run() {
        while (step()) {
        }
        for (int rank = 0; rank < count(); ++rank) {
            if (!finished(rank) || !memories_.right(rank)) return false;
        }
        return std::all_of(streams_.begin(), streams_.end(), [](const auto& s) { return s.second.empty(); });
    }

    // Every rank's own tasks are done.
    bool finished(int rank) const { return ranks_[rank].finished; }

  private:
    struct Rank {
        std::vector<std::uint64_t> gates;
        std::size_t stage = 0;
        std::size_t local = 0;   // tasks of the stage that have been done
        std::size_t beside = 0;  // the same
        std::size_t last = 0;
        bool handed_over = false;  // the stage's chains
        bool begun = false;
        bool finished = false;
        std::map<int, std::deque<Span>> posted;       // by intra-node peer
        std::map<std::uint32_t, std::uint64_t> left;  // bytes of inter-node receives, by task
        std::map<int, std::size_t> received;          // of inter-node peers: those that are whole
    };
    struct Line {
        int rank;
        int stage;
        const Chain* chain;
        std::size_t next = 0;
        std::uint64_t done = 0;
    };

    int count() const { return static_cast<int>(ranks_.size()); }
    unsigned char* at(int rank, const Span& span) { return memories_.at(rank, span); }

    bool intra_node(int rank, int peer) const { return !hosts_.empty() && hosts_[rank] == hosts_[peer]; }

    // One thing that the processor of a rank does; false when there is none now.
    bool go_on(int rank) {
        Rank& of = ranks_[rank];
        const Chains& chains = chains_[rank];
        if (!of.begun || of.finished) return false;
        if (of.stage == chains.stages.size()) {
            if (busy(rank, -2)) return false;
            if (of.last < chains.last.size()) {
                if (!process(rank, chains.last[of.last])) return false;
                ++of.last;
                return true;
            }
            of.finished = true;
            return true;
        }
        const Stage& stage = chains.stages[of.stage];
        if (of.local < stage.local.size()) {
            if (!process(rank, stage.local[of.local])) return false;
            ++of.local;
            return true;
        }
        if (!of.handed_over) {
            of.handed_over = true;
            for (const Chain& chain : stage.chains)
                lines_.push_back({rank, static_cast<int>(of.stage), &chain});
            return true;
        }
        if (of.beside < stage.beside.size()) {
            if (!process(rank, stage.beside[of.beside])) return false;
            ++of.beside;
            return true;
        }
        if (busy(rank, static_cast<int>(of.stage))) return false;
        ++of.stage;
        of.local = of.beside = 0;
        of.handed_over = false;
        return true;
    }

    // Does the task, or nothing.
    bool process(int rank, const Task& task) {
        Rank& of = ranks_[rank];
        std::vector<MemoryBytes>& mail = mail_[{task.peer, rank}];
        switch (task.kind) {
            case Kind::recv:
                of.posted[task.peer].push_back(task.target);
                return true;
            case Kind::wait:
                if (!intra_node(rank, task.peer)) return of.received[task.peer] >= task.count;
                if (mail.size() < task.count) return false;
                // Into the span that was posted first, as late as can be.
                for (std::uint64_t n = 0; n < task.count; ++n) {
                    if (of.posted[task.peer].empty()) return false;
                    const Span span = of.posted[task.peer].front();
                    of.posted[task.peer].pop_front();
                    if (span.length > 0) std::memcpy(at(rank, span), mail[n].data(), span.length);
                }
                mail.erase(mail.begin(), mail.begin() + static_cast<std::ptrdiff_t>(task.count));
                return true;
            case Kind::send:
                mail_[{rank, task.peer}].emplace_back(at(rank, task.source),
                                                      at(rank, task.source) + task.source.length);
                return true;
            default:
                work(rank, task);
                return true;
        }
    }

    void work(int rank, const Task& task) {
        unsigned char* const target = at(rank, task.target);
        const unsigned char* const source = at(rank, task.source);
        if (task.kind != Kind::copy) {
            reduce_bytes(problem_, target, source, task.target.length);
        } else if (task.target.length > 0) {
            std::memmove(target, source, task.target.length);
        }
    }

    bool busy(int rank, int stage) const {
        return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
            return line.rank == rank && (stage < -1 || line.stage == stage) && line.next < line.chain->size();
        });
    }

    // One thing that can happen, at random; false when nothing can.
    bool step() {
        // Where the processors have a line of their own, they may be ahead or behind.
        if (!hosts_.empty() && random_() % 2 == 0 && processors_go_on()) return true;
        for (std::size_t i = lines_.size(); i > 1; --i) std::swap(lines_[i - 1], lines_[random_() % i]);
        for (Line& line : lines_) {
            if (line.next < line.chain->size() && go_on(line)) return true;
        }
        return processors_go_on();
    }

    bool processors_go_on() {
        const int first = static_cast<int>(random_() % ranks_.size());
        for (int n = 0; n < count(); ++n) {
            if (go_on((first + n) % count())) return true;
        }
        return false;
    }

    bool go_on(Line& line) {
        const Step& step = (*line.chain)[line.next];
        std::uint64_t* gate = step.gate >= 0 ? &ranks_[line.rank].gates[step.gate] : nullptr;
        if (step.kind == Step::Kind::signal) {
            ++*gate;
        } else if (step.kind == Step::Kind::await) {
            if (*gate < step.count) return false;
            *gate -= step.count;
        } else {
            const std::uint64_t bytes = std::max<std::uint64_t>(step.span.length, 1);
            const bool send = step.kind == Step::Kind::send;
            std::deque<unsigned char>& stream =
                streams_[send ? std::pair(line.rank, step.peer) : std::pair(step.peer, line.rank)];
            const std::uint64_t most = send ? capacity_ - stream.size() : stream.size();
            if (most == 0) return false;
            for (std::uint64_t n = 1 + random_() % std::min(most, bytes - line.done); n > 0;
                 --n, ++line.done) {
                unsigned char* const byte =
                    step.span.length > 0 ? at(line.rank, step.span) + line.done : nullptr;
                if (send) {
                    stream.push_back(byte != nullptr ? *byte : 0);
                } else {
                    if (byte != nullptr) *byte = stream.front();
                    stream.pop_front();
                }
            }
            if (line.done < bytes) return true;
        }
        line.done = 0;
        ++line.next;
        if (step.kind == Step::Kind::receive) {
            std::uint64_t& left = ranks_[line.rank].left[step.task];
            left -= std::max<std::uint64_t>(step.span.length, 1);
            if (left == 0) ++ranks_[line.rank].received[step.peer];
        }
        return true;
    }

    const Problem& problem_;
    const std::vector<Chains>& chains_;
    std::span<const int> hosts_;
    std::uint64_t capacity_;
    std::mt19937& random_;
    std::vector<Rank> ranks_;
    Memories memories_;
    std::deque<Line> lines_;  // an entry stays valid while others are added
    std::map<std::pair<int, int>, std::deque<unsigned char>> streams_;  // sender, receiver
    std::map<std::pair<int, int>, std::vector<MemoryBytes>> mail_;      // of intra-node peers
};

// Runs the chains once. A barrier is right when no rank comes to its end while another has not begun.
inline bool chains_run_right(const Problem& problem, const std::vector<Chains>& chains,
                             std::uint64_t capacity, std::mt19937& random, std::span<const int> hosts = {}) {
    if (!ChainExecutor(problem, chains, hosts, capacity, random).run()) return false;
    if (problem.collective != Collective::barrier) return true;
    for (int late = 0; late < problem.ranks; ++late) {
        ChainExecutor without(problem, chains, hosts, capacity, random, late);
        without.run();
        for (int rank = 0; rank < problem.ranks; ++rank) {
            if (rank != late && without.finished(rank)) return false;
        }
    }
    return true;
}

}  // namespace lapwing
