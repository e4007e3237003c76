// Rule matching: the n-th send of a pair matches its n-th receive, and waits count every receive once.
#include <fmt/format.h>

#include <algorithm>

#include "task/checker/rules.hpp"

namespace lapwing::checker {
namespace {

class Matching {
  public:
    Matching(std::span<const List> lists, const Traffic& traffic, Findings& findings)
        : lists_(lists), traffic_(traffic), findings_(findings), waits_(count_waits()) {}

    void check() {
        for (PairIndex i = 0; i < traffic_.size() && !findings_.full(); ++i) check_pair(i);
    }

  private:
    struct Waits {
        std::uint64_t posted = 0;
        std::uint64_t counted = 0;
        bool early = false;  // a wait counts receives that are posted after it
        TaskIndex early_task = 0;
    };

    // The part of the rule that concerns the receiver's list alone.
    std::vector<Waits> count_waits() const {
        std::vector<Waits> by_pair(traffic_.size());
        for (std::size_t rank = 0; rank < lists_.size(); ++rank) {
            const std::vector<Task>& tasks = lists_[rank].tasks;
            for (std::size_t i = 0; i < tasks.size(); ++i) {
                if (tasks[i].kind != Kind::recv && tasks[i].kind != Kind::wait) continue;
                Waits& waits = by_pair[traffic_.pair_of(static_cast<int>(rank), i)];
                if (waits.early) continue;
                if (tasks[i].kind == Kind::recv) {
                    ++waits.posted;
                } else if (tasks[i].count > waits.posted - waits.counted) {
                    waits.early = true;
                    waits.early_task = static_cast<TaskIndex>(i);
                } else {
                    waits.counted += tasks[i].count;
                }
            }
        }
        return by_pair;
    }

    // Reports one violation per pair, because a mismatch shifts all later messages.
    void check_pair(PairIndex index) {
        const Pair& pair = traffic_[index];
        const std::uint32_t both = std::min(pair.sends, pair.recvs);
        std::uint32_t n = 0;
        while (n < both && length_sent(pair, n) == length_received(pair, n)) ++n;
        if (pair.sends > pair.recvs) {
            findings_.add(
                Rule::matching, pair.sender, traffic_.send(pair, n),
                fmt::format("no receive of rank {} matches it: rank {} sends {}, and the peer receives {}",
                            pair.receiver, pair.sender, times(pair.sends), times(pair.recvs)));
        } else if (pair.recvs > pair.sends) {
            findings_.add(
                Rule::matching, pair.receiver, traffic_.recv(pair, n),
                fmt::format("no send of rank {} matches it: the peer sends {}, and rank {} receives {}",
                            pair.sender, times(pair.sends), pair.receiver, times(pair.recvs)));
        } else if (n < both) {
            findings_.add(Rule::matching, pair.receiver, traffic_.recv(pair, n),
                          fmt::format("the matching send, {} of rank {}, has {} bytes, not {}",
                                      describe(lists_[pair.sender], traffic_.send(pair, n)), pair.sender,
                                      length_sent(pair, n), length_received(pair, n)));
        } else {
            check_waits(pair, waits_[index]);
        }
    }

    void check_waits(const Pair& pair, const Waits& waits) {
        if (waits.early) {
            findings_.add(Rule::matching, pair.receiver, waits.early_task,
                          fmt::format("it counts more receives from rank {} than are posted before it and "
                                      "have no wait yet ({})",
                                      pair.sender, waits.posted - waits.counted));
        } else if (waits.counted < pair.recvs) {
            findings_.add(Rule::matching, pair.receiver, traffic_.recv(pair, waits.counted),
                          "no wait counts this receive");
        }
    }

    std::uint64_t length_sent(const Pair& pair, std::uint32_t n) const {
        return lists_[pair.sender].tasks[traffic_.send(pair, n)].source.length;
    }
    std::uint64_t length_received(const Pair& pair, std::uint32_t n) const {
        return lists_[pair.receiver].tasks[traffic_.recv(pair, n)].target.length;
    }
    static std::string times(std::uint32_t n) { return n == 1 ? "once" : fmt::format("{} times", n); }

    std::span<const List> lists_;
    const Traffic& traffic_;
    Findings& findings_;
    std::vector<Waits> waits_;  // by pair
};

}  // namespace

void check_matching(std::span<const List> lists, const Traffic& traffic, Findings& findings) {
    Matching(lists, traffic, findings).check();
}

}  // namespace lapwing::checker
