// Runs lists on real bytes in a random order: whatever may happen next may happen, and the network takes its
// time. It knows nothing of the checker, whose word it is held against.
#pragma once

#include "memories.hpp"
#include "support/unit.hpp"
#include "task/list.hpp"

namespace lapwing {

enum class Outcome { right, wrong, stuck };

class Executor {
  public:
    // A rank that is `late` does not begin at all; -1 for none.
    Executor(const ListSet& set, std::mt19937& random, bool buffered, int late = -1)
        : set_(set),
          random_(random),
          buffered_(buffered),
          late_(late),
          ranks_(set.lists.size()),
          memories_(set.problem, set.lists, random) {}

    Outcome run() {
        while (step()) {
        }
        for (int rank = 0; rank < count(); ++rank)
            if (!finished(rank)) return Outcome::stuck;
        for (const auto& [pair, flow] : flows_)
            if (flow.sent.size() != flow.landed || flow.posted.size() != flow.landed) return Outcome::stuck;
        if (mangled_) return Outcome::wrong;
        for (int rank = 0; rank < count(); ++rank)
            if (!memories_.right(rank)) return Outcome::wrong;
        return Outcome::right;
    }

    bool finished(int rank) const { return ranks_[rank].next == set_.lists[rank].tasks.size(); }

  private:
    struct Rank {
        std::size_t next = 0;
        bool started_send = false;  // the send in hand has started and waits for its receive
    };
    struct Flow {
        std::vector<Span> sent;
        std::vector<Span> posted;
        std::size_t landed = 0;
        std::size_t waited = 0;
    };
    using Pair = std::pair<int, int>;  // sender, receiver

    int count() const { return static_cast<int>(ranks_.size()); }
    unsigned char* at(int rank, const Span& span) { return memories_.at(rank, span); }

    // One thing that can happen, at random; false when nothing can.
    bool step() {
        std::vector<int> able;
        for (int rank = 0; rank < count(); ++rank)
            if (rank != late_ && !finished(rank) && can_go_on(rank)) able.push_back(rank);
        std::vector<Pair> travelling;
        for (const auto& [pair, flow] : flows_)
            if (flow.landed < std::min(flow.sent.size(), flow.posted.size())) travelling.push_back(pair);
        if (able.empty() && travelling.empty()) return false;
        const std::size_t chosen = random_() % (able.size() + travelling.size());
        if (chosen < able.size())
            go_on(able[chosen]);
        else
            land(travelling[chosen - able.size()]);
        return true;
    }

    bool can_go_on(int rank) {
        const Task& task = set_.lists[rank].tasks[ranks_[rank].next];
        if (task.kind == Kind::wait) {
            const Flow& flow = flows_[{task.peer, rank}];
            return flow.landed >= flow.waited + task.count;
        }
        if (!sends(task.kind) || !ranks_[rank].started_send) return true;
        const Flow& flow = flows_[{rank, task.peer}];
        return flow.posted.size() >= flow.sent.size();
    }

    void go_on(int rank) {
        Rank& me = ranks_[rank];
        const Task& task = set_.lists[rank].tasks[me.next];
        switch (task.kind) {
            case Kind::send:
                if (!me.started_send) flows_[{rank, task.peer}].sent.push_back(task.source);
                me.started_send = !me.started_send && !buffered_;
                if (me.started_send) return;
                break;
            case Kind::recv:
                flows_[{task.peer, rank}].posted.push_back(task.target);
                break;
            case Kind::wait:
                flows_[{task.peer, rank}].waited += task.count;
                break;
            case Kind::copy:
                std::memcpy(at(rank, task.target), at(rank, task.source), task.target.length);
                break;
            default:
                reduce_bytes(set_.problem, at(rank, task.target), at(rank, task.source), task.target.length);
                break;
        }
        ++me.next;
    }

    void land(const Pair& pair) {
        Flow& flow = flows_[pair];
        const Span& source = flow.sent[flow.landed];
        const Span& target = flow.posted[flow.landed];
        ++flow.landed;
        if (source.length != target.length)
            mangled_ = true;
        else if (source.length > 0)
            std::memmove(at(pair.second, target), at(pair.first, source), source.length);
    }

    const ListSet& set_;
    std::mt19937& random_;
    bool buffered_;
    int late_;
    std::vector<Rank> ranks_;
    Memories memories_;
    std::map<Pair, Flow> flows_;
    bool mangled_ = false;
};

// Runs the lists once. A barrier is right when no rank comes to its end while another has not begun.
inline Outcome execute(const ListSet& set, std::mt19937& random, bool buffered) {
    const Outcome outcome = Executor(set, random, buffered).run();
    if (outcome != Outcome::right || set.problem.collective != Collective::barrier) return outcome;
    for (int late = 0; late < set.problem.ranks; ++late) {
        Executor without(set, random, buffered, late);
        without.run();
        for (int rank = 0; rank < set.problem.ranks; ++rank)
            if (rank != late && without.finished(rank)) return Outcome::wrong;
    }
    return Outcome::right;
}

}  // namespace lapwing
