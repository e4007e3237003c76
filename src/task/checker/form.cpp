// Rule form: each list is valid by itself and fits the problem.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "task/checker/rules.hpp"
#include "task/result.hpp"
#include "task/text.hpp"

namespace lapwing::checker {
namespace {

bool inside(const Span& span, const List& list) {
    const std::uint64_t bytes = list.bytes(span.space);
    return span.length <= bytes && span.offset <= bytes - span.length;
}

// The spans of out that a list may write: the result, and the input if it lies in out. Gaps between blocks
// belong to the caller.
class Writable {
  public:
    Writable(const Problem& problem, int rank) {
        std::vector<Span> spans;
        for (const Result& result : results(problem, rank)) spans.push_back(result.out);
        const Span own = whole_input(problem, rank);
        if (own.space == Space::out) spans.push_back(own);
        std::sort(spans.begin(), spans.end(),
                  [](const Span& a, const Span& b) { return a.offset < b.offset; });
        for (const Span& span : spans) {
            if (spans_.empty() || spans_.back().end() < span.offset) {
                spans_.push_back(span);
            } else {
                Span& last = spans_.back();
                last.length = std::max(last.end(), span.end()) - last.offset;
            }
        }
    }

    bool holds(const Span& span) const {
        auto behind = std::partition_point(spans_.begin(), spans_.end(), [&](const Span& candidate) {
            return candidate.offset <= span.offset;
        });
        return behind != spans_.begin() && span.end() <= (behind - 1)->end();
    }

  private:
    std::vector<Span> spans_;  // disjoint, in order
};

class Form {
  public:
    Form(const Problem& problem, const List& list)
        : problem_(problem), list_(list), writable_(problem, list.rank) {}

    // Returns the error of the task; empty if it has none.
    std::string fault(const Task& task) const {
        const unsigned has = fields(task.kind);
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv) {
            return "only lowering makes enable tasks; a list has none";
        }
        if ((has & PEER) != 0 && (task.peer < 0 || task.peer >= list_.ranks || task.peer == list_.rank)) {
            return task.peer == list_.rank ? std::string("a rank must not be its own peer")
                                           : fmt::format("there is no rank {}", task.peer);
        }
        if ((has & SOURCE) != 0 && !inside(task.source, list_)) return outside(task.source);
        if ((has & TARGET) != 0) {
            if (!inside(task.target, list_)) return outside(task.target);
            if (task.target.length > 0 && task.target.space == Space::in) return "in is only read";
            if (task.target.length > 0 && task.target.space == Space::out && !writable_.holds(task.target)) {
                return fmt::format("{} is not inside a block of the result", print(task.target));
            }
        }
        if ((has & TARGET) != 0 && (has & SOURCE) != 0) return fault_of_two(task);
        return {};
    }

  private:
    std::string outside(const Span& span) const {
        return fmt::format("{} is not inside {}, which has {} bytes", print(span), name(span.space),
                           list_.bytes(span.space));
    }

    std::string fault_of_two(const Task& task) const {
        if (task.target.length != task.source.length) return "target and source differ in length";
        if (task.target.length > 0 && task.target.overlaps(task.source)) return "target and source overlap";
        if (task.kind != Kind::reduce) return {};
        if (!is_reduction(problem_.collective)) {
            return fmt::format("{} does not reduce", name(problem_.collective));
        }
        if (task.op != problem_.op || task.type != problem_.type) {
            return fmt::format("the problem reduces by {} of {}", name(problem_.op), name(problem_.type));
        }
        if (task.target.length % problem_.element_bytes() != 0) {
            return fmt::format("{} bytes are not whole elements of {}", task.target.length, name(task.type));
        }
        return {};
    }

    const Problem& problem_;
    const List& list_;
    const Writable writable_;
};

}  // namespace

void check_form(const Problem& problem, std::span<const List> lists, Findings& findings) {
    if (lists.size() != static_cast<std::size_t>(problem.ranks)) {
        findings.add(Rule::form, 0, std::nullopt,
                     fmt::format("{} ranks need as many lists, not {}", problem.ranks, lists.size()));
        return;
    }
    for (int rank = 0; rank < problem.ranks && !findings.full(); ++rank) {
        const List& list = lists[rank];
        const auto refuse = [&](std::string why) {
            findings.add(Rule::form, rank, std::nullopt, std::move(why));
        };
        if (list.rank != rank) {
            refuse(fmt::format("its list is that of rank {}", list.rank));
            continue;
        }
        if (list.ranks != problem.ranks) {
            refuse(fmt::format("its list is for {} ranks, the problem has {}", list.ranks, problem.ranks));
            continue;
        }
        if (list.in_bytes != in_bytes(problem, rank)) {
            refuse(fmt::format("in has {} bytes in its list, {} in the problem", list.in_bytes,
                               in_bytes(problem, rank)));
        }
        if (list.out_bytes != out_bytes(problem, rank)) {
            refuse(fmt::format("out has {} bytes in its list, {} in the problem", list.out_bytes,
                               out_bytes(problem, rank)));
        }
        const Form form(problem, list);
        for (std::size_t i = 0; i < list.tasks.size() && !findings.full(); ++i) {
            std::string fault = form.fault(list.tasks[i]);
            if (!fault.empty()) findings.add(Rule::form, rank, i, std::move(fault));
        }
    }
}

}  // namespace lapwing::checker
