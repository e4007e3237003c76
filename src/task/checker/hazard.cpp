// Rule hazard: tracks the bytes of one rank that the network may still access.
#include <fmt/format.h>

#include <optional>

#include "task/checker/rules.hpp"
#include "task/checker/segments.hpp"
#include "task/text.hpp"

namespace lapwing::checker {
namespace {

class Hazard {
  public:
    Hazard(std::span<const List> lists, const Traffic& traffic, Findings& findings)
        : lists_(lists), traffic_(traffic), findings_(findings), completed_(traffic.size(), 0) {}

    // Stops at the list's first violation, because it causes others.
    void check(int rank) {
        list_ = &lists_[rank];
        out_.clear();
        scratch_.clear();
        for (TaskIndex i = 0; i < list_->tasks.size(); ++i) {
            const Task& task = list_->tasks[i];
            std::optional<TaskIndex> holder;
            switch (task.kind) {
                case Kind::send:
                    holder = reading(task.source);
                    if (!holder) lend(task.source, i);
                    break;
                case Kind::recv:
                    holder = writing(task.target);
                    if (!holder) lend(task.target, i);
                    break;
                case Kind::wait:
                    reclaim(traffic_.pair_of(rank, i), task.count);
                    break;
                default:
                    holder = reading(task.source);
                    if (!holder) holder = writing(task.target);
                    break;
            }
            if (holder) {
                findings_.add(Rule::hazard, rank, i, explain(*holder));
                return;
            }
        }
    }

  private:
    // The spans that the network may access, with their task: sends, and receives that are not complete.
    using Network = Segments<TaskIndex>;

    // No task writes to in: the network may read it at any time.
    Network* network(const Span& span) {
        if (span.length == 0 || span.space == Space::in) return nullptr;
        return span.space == Space::out ? &out_ : &scratch_;
    }

    // Returns the receive that forbids reading the span, if any.
    std::optional<TaskIndex> reading(const Span& span) { return find_holder(span, false); }
    // Returns the receive or send that forbids writing the span, if any.
    std::optional<TaskIndex> writing(const Span& span) { return find_holder(span, true); }

    std::optional<TaskIndex> find_holder(const Span& span, bool also_sends) {
        std::optional<TaskIndex> holder;
        if (const Network* held = network(span)) {
            held->visit(span.offset, span.end(), [&](const Network::Segment& segment) {
                if (also_sends || list_->tasks[segment.value].kind == Kind::recv) holder = segment.value;
                return !holder;
            });
        }
        return holder;
    }

    void lend(const Span& span, TaskIndex task) {
        if (Network* held = network(span)) held->assign(span.offset, span.end(), task);
    }

    void reclaim(PairIndex index, std::uint64_t count) {
        const Pair& pair = traffic_[index];
        for (; count > 0; --count) {
            const Span& span = list_->tasks[traffic_.recv(pair, completed_[index]++)].target;
            if (Network* held = network(span)) held->erase(span.offset, span.end());
        }
    }

    std::string explain(TaskIndex holder) const {
        if (sends(list_->tasks[holder].kind)) {
            return fmt::format("{} may still read {} until the end of the list", describe(*list_, holder),
                               print(list_->tasks[holder].source));
        }
        return fmt::format("{} belongs to {} until a wait for rank {} has completed it",
                           print(list_->tasks[holder].target), describe(*list_, holder),
                           list_->tasks[holder].peer);
    }

    std::span<const List> lists_;
    const Traffic& traffic_;
    Findings& findings_;
    std::vector<std::uint32_t> completed_;  // receives, by pair
    const List* list_ = nullptr;
    Network out_;
    Network scratch_;
};

}  // namespace

void check_hazard(std::span<const List> lists, const Traffic& traffic, Findings& findings) {
    Hazard hazard(lists, traffic, findings);
    for (std::size_t rank = 0; rank < lists.size() && !findings.full(); ++rank) {
        hazard.check(static_cast<int>(rank));
    }
}

}  // namespace lapwing::checker
