#include "task/builder.hpp"

namespace lapwing {
namespace {

constexpr std::uint64_t alignment = 16;

// A span of zero bytes has no place: one form for each list.
Span normal(Span span) {
    return span.length == 0 ? Span{} : span;
}

bool continues(const Span& first, const Span& second) {
    return first.space == second.space && first.end() == second.offset;
}

}  // namespace

Builder::Builder(const Problem& problem, int rank, std::uint64_t expected_tasks)
    : op_(problem.op), type_(problem.type) {
    list_.rank = rank;
    list_.ranks = problem.ranks;
    list_.in_bytes = lapwing::in_bytes(problem, rank);
    list_.out_bytes = lapwing::out_bytes(problem, rank);
    list_.tasks.reserve(expected_tasks);
}

Span Builder::scratch(std::uint64_t bytes) {
    const std::uint64_t offset = (list_.scratch_bytes + alignment - 1) / alignment * alignment;
    list_.scratch_bytes = offset + bytes;
    return {Space::scratch, offset, bytes};
}

void Builder::send(int peer, Span source) {
    Task& task = list_.tasks.emplace_back();
    task.kind = Kind::send;
    task.peer = peer;
    task.source = normal(source);
}

void Builder::recv(int peer, Span target) {
    Task& task = list_.tasks.emplace_back();
    task.kind = Kind::recv;
    task.peer = peer;
    task.target = normal(target);
}

void Builder::wait(int peer, std::uint64_t count) {
    Task& task = list_.tasks.emplace_back();
    task.kind = Kind::wait;
    task.peer = peer;
    task.count = count;
}

void Builder::copy(Span target, Span source) {
    if (target.length == 0 || target == source) return;
    if (!list_.tasks.empty()) {
        Task& last = list_.tasks.back();
        if (last.kind == Kind::copy && continues(last.target, target) && continues(last.source, source)) {
            last.target.length += target.length;
            last.source.length += source.length;
            return;
        }
    }
    Task& task = list_.tasks.emplace_back();
    task.kind = Kind::copy;
    task.target = target;
    task.source = source;
}

void Builder::reduce(Span target, Span source) {
    if (target.length == 0) return;
    Task& task = list_.tasks.emplace_back();
    task.kind = Kind::reduce;
    task.op = op_;
    task.type = type_;
    task.target = target;
    task.source = source;
}

}  // namespace lapwing
