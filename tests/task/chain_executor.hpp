// Runs chain forms on real bytes in a random order, over connections that hold few. It knows nothing of the
// checker's model, whose word it is held against.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "expected_out.hpp"
#include "task/chains.hpp"

namespace lapwing {

class ChainExecutor {
  public:
    // A rank that is `late` does not begin at all; -1 for none.
    ChainExecutor(const Problem& problem, const std::vector<Chains>& chains, std::uint64_t capacity,
                  std::mt19937& random, int late = -1)
        : problem_(problem), chains_(chains), capacity_(capacity), random_(random), ranks_(chains.size()) {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            const std::uint64_t sizes[] = {chains[rank].in_bytes, chains[rank].out_bytes,
                                           chains[rank].scratch_bytes};
            for (std::size_t space = 0; space < 3; ++space) {
                ranks_[rank].memory[space].resize(sizes[space]);
                for (unsigned char& byte : ranks_[rank].memory[space])
                    byte = static_cast<unsigned char>(random());
            }
            ranks_[rank].gates.resize(static_cast<std::size_t>(chains[rank].gates));
            ranks_[rank].start = ranks_[rank].memory[0];
            ranks_[rank].kept = ranks_[rank].memory[1];
        }
        for (int rank = 0; rank < count(); ++rank) {
            if (rank == late) continue;
            ranks_[rank].begun = true;
            for (const Chain& chain : chains[rank].receives) lines_.push_back({rank, -1, &chain});
            enter(rank, 0);
        }
    }

    // Whether all came to their end and hold what the problem asks for.
    bool run() {
        while (step()) {
        }
        for (int rank = 0; rank < count(); ++rank) {
            if (!finished(rank) || !right(rank)) return false;
        }
        return std::all_of(streams_.begin(), streams_.end(), [](const auto& s) { return s.second.empty(); });
    }

    // Every rank's own tasks are done.
    bool finished(int rank) const { return ranks_[rank].finished; }

  private:
    struct Rank {
        MemoryBytes memory[3];
        MemoryBytes start;  // in
        MemoryBytes kept;   // out, before
        std::vector<std::uint64_t> gates;
        std::size_t stage = 0;
        bool begun = false;
        bool finished = false;
    };
    struct Line {
        int rank;
        int stage;
        const Chain* chain;
        std::size_t next = 0;
        std::uint64_t done = 0;
    };

    int count() const { return static_cast<int>(ranks_.size()); }
    unsigned char* at(int rank, const Span& span) {
        return ranks_[rank].memory[static_cast<std::size_t>(span.space)].data() + span.offset;
    }

    void enter(int rank, std::size_t stage) {
        ranks_[rank].stage = stage;
        if (stage == chains_[rank].stages.size()) return;
        for (const Task& task : chains_[rank].stages[stage].local) work(rank, task);
        for (const Chain& chain : chains_[rank].stages[stage].chains)
            lines_.push_back({rank, static_cast<int>(stage), &chain});
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
        for (std::size_t i = lines_.size(); i > 1; --i) std::swap(lines_[i - 1], lines_[random_() % i]);
        for (Line& line : lines_) {
            if (line.next < line.chain->size() && go_on(line)) return true;
        }
        for (int rank = 0; rank < count(); ++rank) {
            Rank& of = ranks_[rank];
            if (!of.begun || of.finished) continue;
            if (of.stage < chains_[rank].stages.size()) {
                if (busy(rank, static_cast<int>(of.stage))) continue;
                enter(rank, of.stage + 1);
                return true;
            }
            if (busy(rank, -2)) continue;
            for (const Task& task : chains_[rank].last) work(rank, task);
            of.finished = true;
            return true;
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
        return true;
    }

    // Whether the rank's out holds what the problem asks for.
    bool right(int rank) const {
        const auto start = [&](int from, Space space) -> const MemoryBytes& {
            return space == Space::in ? ranks_[from].start : ranks_[from].kept;
        };
        const MemoryBytes& out = ranks_[rank].memory[static_cast<std::size_t>(Space::out)];
        return out == expected_out(problem_, rank, start, out);
    }

    const Problem& problem_;
    const std::vector<Chains>& chains_;
    std::uint64_t capacity_;
    std::mt19937& random_;
    std::vector<Rank> ranks_;
    std::deque<Line> lines_;  // an entry stays valid while others are added
    std::map<std::pair<int, int>, std::deque<unsigned char>> streams_;  // sender, receiver
};

// Runs the chains once. A barrier is right when no rank comes to its end while another has not begun.
inline bool chains_run_right(const Problem& problem, const std::vector<Chains>& chains,
                             std::uint64_t capacity, std::mt19937& random) {
    if (!ChainExecutor(problem, chains, capacity, random).run()) return false;
    if (problem.collective != Collective::barrier) return true;
    for (int late = 0; late < problem.ranks; ++late) {
        ChainExecutor without(problem, chains, capacity, random, late);
        without.run();
        for (int rank = 0; rank < problem.ranks; ++rank) {
            if (rank != late && without.finished(rank)) return false;
        }
    }
    return true;
}

}  // namespace lapwing
