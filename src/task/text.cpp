#include "task/text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

namespace lapwing {
namespace {

void append(std::string& text, const Span& span) {
    fmt::format_to(std::back_inserter(text), "{}[{}+{}]", name(span.space), span.offset, span.length);
}

void append(std::string& text, const Task& task) {
    const unsigned has = fields(task.kind);
    text += name(task.kind);
    if (has & PEER) fmt::format_to(std::back_inserter(text), " {}", task.peer);
    if (has & OP) fmt::format_to(std::back_inserter(text), " {} {}", name(task.op), name(task.type));
    // Only a message's span may be left out: of the two spans of a copy, one alone could be either.
    const bool always = !(has & PEER);
    if ((has & TARGET) && (always || task.target.length != 0)) append(text += ' ', task.target);
    if ((has & SOURCE) && (always || task.source.length != 0)) append(text += ' ', task.source);
    if (has & COUNT) fmt::format_to(std::back_inserter(text), " {}", task.count);
}

void append(std::string& text, const Part& part) {
    fmt::format_to(std::back_inserter(text), "{}:{}+{}", part.peer, part.offset, part.bytes);
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
    text += " hosts ";
    for (int rank = 0; rank < placement.ranks(); ++rank) {
        fmt::format_to(std::back_inserter(text), "{}{}", rank == 0 ? "" : ",", placement.host_of(rank));
    }
    if (placement.in_usual_order()) return;
    text += " order ";
    for (int place = 0; place < placement.ranks(); ++place) {
        fmt::format_to(std::back_inserter(text), "{}{}", place == 0 ? "" : ",",
                       placement.order()[static_cast<std::size_t>(place)]);
    }
}

void append(std::string& text, const List& list) {
    fmt::format_to(std::back_inserter(text), "list {} in {} out {} scratch {}\n", list.rank, list.in_bytes,
                   list.out_bytes, list.scratch_bytes);
    for (const Task& task : list.tasks) {
        append(text += "  ", task);
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
    std::string text = fmt::format("problem {} ranks {}", name(problem.collective), problem.ranks);
    if (has_root(problem.collective)) fmt::format_to(std::back_inserter(text), " root {}", problem.root);
    const bool has_bytes = problem.collective != Collective::barrier && !has_parts(problem.collective);
    if (has_bytes || problem.bytes != 0) {
        fmt::format_to(std::back_inserter(text), " bytes {}", problem.bytes);
    }
    if (problem.in_place) text += " in_place";
    if (is_reduction(problem.collective)) {
        fmt::format_to(std::back_inserter(text), " op {} type {}", name(problem.op), name(problem.type));
        if (problem.type == Type::opaque) {
            fmt::format_to(std::back_inserter(text), ":{}", problem.element);
        }
    }
    if (problem.ordered) text += " ordered";
    if (problem.placement != nullptr) append(text, *problem.placement);
    return text;
}

std::string print(const ListSet& set) {
    std::string text = print(set.problem);
    if (!set.algorithm.empty()) fmt::format_to(std::back_inserter(text), " algorithm {}", set.algorithm);
    text += '\n';
    for (std::size_t rank = 0; rank < set.problem.parts.size(); ++rank) {
        const std::string blocks = print(set.problem.parts[rank]);
        fmt::format_to(std::back_inserter(text), "parts {}{}{}\n", rank, blocks.empty() ? "" : " ", blocks);
    }
    for (const List& list : set.lists) append(text, list);
    return text;
}

}  // namespace lapwing
