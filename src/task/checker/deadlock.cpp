// Rule deadlock: executes all lists; the ranks that do not complete wait for each other in a circle.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/values.hpp"
#include "task/checker/rules.hpp"

namespace lapwing::checker {
namespace {

constexpr PairIndex no_pair = std::numeric_limits<PairIndex>::max();

enum class Sends { buffered, unbuffered };  // unbuffered: a send blocks until its receive is posted

class Execution {
  public:
    Execution(std::span<const List> lists, const Traffic& traffic, Sends sends)
        : lists_(lists),
          traffic_(traffic),
          sends_(sends),
          next_(lists.size(), 0),
          blocked_on_(lists.size(), no_pair),
          need_(lists.size(), 0),
          flows_(traffic.size()) {
        for (std::size_t rank = lists.size(); rank-- > 0;) ready_.push_back(static_cast<int>(rank));
        while (!ready_.empty()) {
            const int rank = ready_.back();
            ready_.pop_back();
            const TaskIndex begin = next_[rank];
            advance(rank);
            if (next_[rank] > begin) bursts_.push_back({rank, begin, next_[rank]});
        }
    }

    bool complete() const {
        for (const PairIndex pair : blocked_on_) {
            if (pair != no_pair) return false;
        }
        return true;
    }
    std::vector<Burst> bursts() { return std::move(bursts_); }

    bool blocked(int rank) const { return blocked_on_[rank] != no_pair; }
    bool blocked_in_send(int rank) const { return traffic_[blocked_on_[rank]].sender == rank; }
    int waits_for(int rank) const {
        const Pair& pair = traffic_[blocked_on_[rank]];
        return pair.sender == rank ? pair.receiver : pair.sender;
    }
    // A blocked send has started; a blocked wait has not.
    TaskIndex blocked_at(int rank) const { return blocked_in_send(rank) ? next_[rank] - 1 : next_[rank]; }

  private:
    struct Flow {
        std::uint32_t started = 0;
        std::uint32_t posted = 0;
        std::uint32_t waited = 0;
    };

    void advance(int rank) {
        const std::vector<Task>& tasks = lists_[rank].tasks;
        TaskIndex& next = next_[rank];
        while (next < tasks.size()) {
            const Task& task = tasks[next];
            if (sends(task.kind)) {
                const PairIndex pair = traffic_.pair_of(rank, next);
                Flow& flow = flows_[pair];
                wake(task.peer, pair, ++flow.started);
                ++next;
                if (sends_ == Sends::unbuffered && flow.posted < flow.started) {
                    return block(rank, pair, flow.started);
                }
            } else if (task.kind == Kind::recv) {
                const PairIndex pair = traffic_.pair_of(rank, next);
                wake(task.peer, pair, ++flows_[pair].posted);
                ++next;
            } else if (task.kind == Kind::wait) {
                const PairIndex pair = traffic_.pair_of(rank, next);
                Flow& flow = flows_[pair];
                const std::uint32_t need = flow.waited + static_cast<std::uint32_t>(task.count);
                if (flow.started < need) return block(rank, pair, need);
                flow.waited = need;
                ++next;
            } else {
                ++next;
            }
        }
    }

    void block(int rank, PairIndex pair, std::uint32_t need) {
        blocked_on_[rank] = pair;
        need_[rank] = need;
    }

    void wake(int peer, PairIndex pair, std::uint32_t reached) {
        if (blocked_on_[peer] != pair || need_[peer] > reached) return;
        blocked_on_[peer] = no_pair;
        ready_.push_back(peer);
    }

    std::span<const List> lists_;
    const Traffic& traffic_;
    Sends sends_;
    std::vector<TaskIndex> next_;        // by rank
    std::vector<PairIndex> blocked_on_;  // by rank
    std::vector<std::uint32_t> need_;    // by rank: the count of the pair that unblocks it
    std::vector<Flow> flows_;            // by pair
    std::vector<int> ready_;
    std::vector<Burst> bursts_;
};

// Every rank that did not complete waits for another rank that did not complete (sends, receives and waits
// match in number). Following these ranks must close a circle. Returns the shortest circle, from its lowest
// rank.
std::vector<int> shortest_circle(const Execution& execution, int ranks) {
    std::vector<int> shortest;
    std::vector<int> walk_of(ranks, -1);  // by rank: the first walk that reached it
    for (int start = 0; start < ranks; ++start) {
        int rank = start;
        while (execution.blocked(rank) && walk_of[rank] < 0) {
            walk_of[rank] = start;
            rank = execution.waits_for(rank);
        }
        if (!execution.blocked(rank) || walk_of[rank] != start) continue;
        std::vector<int> circle{rank};
        for (int other = execution.waits_for(rank); other != rank; other = execution.waits_for(other))
            circle.push_back(other);
        if (shortest.empty() || circle.size() < shortest.size()) shortest = std::move(circle);
    }
    std::rotate(shortest.begin(), std::min_element(shortest.begin(), shortest.end()), shortest.end());
    return shortest;
}

void report(const Execution& execution, std::span<const List> lists, const char* opening,
            Findings& findings) {
    constexpr std::size_t max_shown = 8;
    const std::vector<int> circle = shortest_circle(execution, static_cast<int>(lists.size()));
    std::string why = fmt::format("{}rank {}", opening, circle[0]);
    for (std::size_t i = 0; i < circle.size(); ++i) {
        const int rank = circle[i];
        if (i + 1 >= max_shown && i + 1 < circle.size()) {
            why += fmt::format(", and so on through {} back to rank {}",
                               counted(circle.size() - i, "more rank"), circle[0]);
            break;
        }
        why +=
            fmt::format("{} waits in {} for {}rank {}", i == 0 ? "" : ", which",
                        describe(lists[rank], execution.blocked_at(rank)),
                        execution.blocked_in_send(rank) ? "the receive of " : "", execution.waits_for(rank));
    }
    findings.add(Rule::deadlock, circle[0], execution.blocked_at(circle[0]), std::move(why));
}

}  // namespace

std::vector<Burst> check_deadlock(std::span<const List> lists, const Traffic& traffic, Findings& findings) {
    Execution unbuffered(lists, traffic, Sends::unbuffered);
    if (unbuffered.complete()) return unbuffered.bursts();
    const Execution buffered(lists, traffic, Sends::buffered);
    if (buffered.complete()) {
        report(unbuffered, lists, "when sends are not buffered, ", findings);
    } else {
        report(buffered, lists, "", findings);
    }
    return {};
}

}  // namespace lapwing::checker
