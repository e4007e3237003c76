// Rule form: each list can be read by itself, and fits the problem.
#include <fmt/format.h>

#include "task/checker/rules.hpp"
#include "task/text.hpp"

namespace lapwing::checker {
namespace {

bool inside(const Span& span, const List& list) {
    const std::uint64_t bytes = list.bytes(span.space);
    return span.length <= bytes && span.offset <= bytes - span.length;
}

class Form {
  public:
    Form(const Problem& problem, const List& list) : problem_(problem), list_(list) {
        if (problem.collective == Collective::gather && problem.in_place && list.rank == problem.root) {
            kept_ = {Space::out, problem.bytes * static_cast<std::uint64_t>(list.rank), problem.bytes};
        }
    }

    // What is wrong with the task; empty when nothing is.
    std::string fault(const Task& task) const {
        const unsigned has = fields(task.kind);
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv) {
            return "only lowering makes enable tasks; a list has none";
        }
        if ((has & PEER) != 0 && (task.peer < 0 || task.peer >= list_.ranks || task.peer == list_.rank)) {
            return task.peer == list_.rank ? std::string("a rank is no peer of itself")
                                           : fmt::format("there is no rank {}", task.peer);
        }
        if ((has & SOURCE) != 0 && !inside(task.source, list_)) return outside(task.source);
        if ((has & TARGET) != 0) {
            if (!inside(task.target, list_)) return outside(task.target);
            if (task.target.length > 0 && task.target.space == Space::in) return "in is only read";
            if (task.target.overlaps(kept_) && task.target.length > 0 && kept_.length > 0) {
                return fmt::format("{} already holds the rank's own block (in_place) and is only read",
                                   print(kept_));
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
            return fmt::format("the problem is to reduce by {} of {}", name(problem_.op),
                               name(problem_.type));
        }
        if (task.target.length % size_in_bytes(task.type) != 0) {
            return fmt::format("{} bytes are not whole elements of {}", task.target.length, name(task.type));
        }
        return {};
    }

    const Problem& problem_;
    const List& list_;
    Span kept_;  // of out, that must stay as it is
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
            refuse(fmt::format("the list in its place is that of rank {}", list.rank));
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
