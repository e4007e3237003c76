#include "task/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace lapwing {
namespace {

void append(std::string& text, const Span& span) {
    text += fmt::format("{}[{}+{}]", name(span.space), span.offset, span.length);
}

void append(std::string& text, const Task& task, bool in_chunks = false) {
    const unsigned has = fields(task.kind);
    text += name(task.kind);
    if (has & PEER) text += fmt::format(" {}", task.peer);
    if ((has & OP) && !in_chunks) text += fmt::format(" {} {}", name(task.op), name(task.type));
    // Only a message's span may be left out: of the two spans of a copy, one alone could be either.
    const bool always = !(has & PEER);
    if ((has & TARGET) && (always || task.target.length != 0)) append(text += ' ', task.target);
    if ((has & SOURCE) && (always || task.source.length != 0)) append(text += ' ', task.source);
    if (has & COUNT) text += fmt::format(" {}", task.count);
}

void append(std::string& text, const Part& part) {
    text += fmt::format("{}:{}+{}", part.peer, part.offset, part.bytes);
}

void append(std::string& text, const Parts& parts) {
    for (const auto& [what, row] : {std::pair("sends", &parts.sends), {"receives", &parts.receives}}) {
        if (row->empty()) continue;
        if (row == &parts.receives && !parts.sends.empty()) text += ' ';
        text += what;
        for (const Part& part : *row) append(text += ' ', part);
    }
}

void append(std::string& text, const Placement& placement) {
    for (int level = 0; level < placement.levels(); ++level) {
        text += level == 0 ? " hosts " : level == 1 ? " groups " : "/";
        for (int rank = 0; rank < placement.ranks(); ++rank)
            text += fmt::format("{}{}", rank == 0 ? "" : ",", placement.group_of(level, rank));
    }
    if (placement.in_default_order()) return;
    text += fmt::format(" order {}", fmt::join(placement.order(), ","));
}

void append(std::string& text, const List& list, bool in_chunks = false) {
    text += fmt::format("list {} in {} out {} scratch {}\n", list.rank, list.in_bytes, list.out_bytes,
                        list.scratch_bytes);
    for (const Task& task : list.tasks) {
        append(text += "  ", task, in_chunks);
        text += '\n';
    }
    text += "end\n";
}

template <typename Thing>
std::string printed(const Thing& thing) {
    std::string text;
    append(text, thing);
    return text;
}

}  // namespace

ParseError::ParseError(int line, int column, const std::string& message)
    : Error(ErrorCode::parse, fmt::format("{}:{}: {}", line, column, message)),
      line_(line),
      column_(column) {}

std::string print(Span span) {
    return printed(span);
}

std::string print(const Task& task) {
    return printed(task);
}

std::string print(const Part& part) {
    return printed(part);
}

std::string print(const Parts& parts) {
    return printed(parts);
}

std::string print(const List& list) {
    return printed(list);
}

std::string print(const Problem& problem) {
    return print_problem({problem, {}, {}});
}

std::string print_problem(const ListSet& set) {
    const Problem& problem = set.problem;
    std::string text = fmt::format("problem {} ranks {}", name(problem.collective), problem.ranks);
    if (has_root(problem.collective)) text += fmt::format(" root {}", problem.root);
    const bool has_bytes = problem.collective != Collective::barrier && !has_parts(problem.collective);
    if (set.chunks) {
        text += fmt::format(" chunks {}", problem.bytes);
        if (set.chunks->min_bytes > 0) text += fmt::format(" min_bytes {}", set.chunks->min_bytes);
        if (set.chunks->max_bytes < UINT64_MAX) text += fmt::format(" max_bytes {}", set.chunks->max_bytes);
    } else if (has_bytes || problem.bytes != 0) {
        text += fmt::format(" bytes {}", problem.bytes);
    }
    if (problem.in_place) text += " in_place";
    if (is_reduction(problem.collective) && !set.chunks) {
        text += fmt::format(" op {} type {}", name(problem.op), name(problem.type));
        if (problem.type == Type::opaque) {
            text += fmt::format(":{}", problem.element);
        }
    }
    if (problem.ordered) text += " ordered";
    if (problem.placement != nullptr) append(text, *problem.placement);
    if (!set.algorithm.empty()) text += fmt::format(" algorithm {}", set.algorithm);
    return text;
}

std::string print(const ListSet& set) {
    std::string text = print_problem(set) + '\n';
    for (std::size_t rank = 0; rank < set.problem.parts.size(); ++rank) {
        const std::string blocks = print(set.problem.parts[rank]);
        text += fmt::format("parts {}{}{}\n", rank, blocks.empty() ? "" : " ", blocks);
    }
    for (const List& list : set.lists) append(text, list, set.chunks.has_value());
    return text;
}

}  // namespace lapwing
