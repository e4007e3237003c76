#include "task/scaling.hpp"

#include <fmt/format.h>

#include "task/checker/rules.hpp"
#include "task/checker/traffic.hpp"

namespace lapwing {
namespace {

class Scale {
  public:
    Scale(const ListSet& set, const Problem& problem)
        : chunks_(set.problem.bytes),
          block_(problem.bytes),
          element_(problem.element_bytes()),
          each_(block_ / element_ / chunks_),
          rest_(block_ / element_ % chunks_) {}

    std::uint64_t offset(std::uint64_t chunk) const {
        const std::uint64_t position = chunk % chunks_;
        return chunk / chunks_ * block_ + (each_ * position + rest_ * position / chunks_) * element_;
    }
    Span of(const Span& span) const {
        const std::uint64_t from = offset(span.offset);
        return {span.space, from, offset(span.end()) - from};
    }

  private:
    std::uint64_t chunks_;
    std::uint64_t block_;    // bytes
    std::uint64_t element_;  // bytes
    std::uint64_t each_;     // elements of a chunk, at least
    std::uint64_t rest_;     // chunks with one more
};

bool is_local(Kind kind) {
    return kind == Kind::copy || kind == Kind::reduce;
}

}  // namespace

std::string first_unaligned(const ListSet& set) {
    const auto aligned = [&](const Span& one, const Span& other) {
        return one.offset % set.problem.bytes == other.offset % set.problem.bytes;
    };
    const auto where = [&](int rank, std::size_t task) {
        return fmt::format("rank {}, {}", rank,
                           checker::describe(set.lists[static_cast<std::size_t>(rank)], task));
    };
    for (const List& list : set.lists) {
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            if (is_local(task.kind) && !aligned(task.target, task.source)) return where(list.rank, i);
        }
    }
    const checker::Traffic traffic(set.lists);
    for (checker::PairIndex at = 0; at < traffic.size(); ++at) {
        const checker::Pair& pair = traffic[at];
        const std::vector<Task>& sender = set.lists[static_cast<std::size_t>(pair.sender)].tasks;
        const std::vector<Task>& receiver = set.lists[static_cast<std::size_t>(pair.receiver)].tasks;
        for (std::size_t n = 0; n < pair.sends; ++n) {
            const checker::TaskIndex send = traffic.send(pair, n);
            if (!aligned(sender[send].source, receiver[traffic.recv(pair, n)].target))
                return where(pair.sender, send);
        }
    }
    return {};
}

bool divides_evenly(const ListSet& set, const Problem& problem) {
    return problem.bytes / problem.element_bytes() % set.problem.bytes == 0;
}

List scale(const ListSet& set, const Problem& problem, int rank) {
    const Scale scale(set, problem);
    const List& chunks = set.lists[static_cast<std::size_t>(rank)];
    List list = {.rank = rank,
                 .ranks = problem.ranks,
                 .in_bytes = in_bytes(problem, rank),
                 .out_bytes = out_bytes(problem, rank),
                 .scratch_bytes = scale.offset(chunks.scratch_bytes),
                 .tasks = {}};
    list.tasks.reserve(chunks.tasks.size());
    for (Task task : chunks.tasks) {
        task.target = scale.of(task.target);
        task.source = scale.of(task.source);
        if (is_local(task.kind) && task.target.length == 0) continue;
        if (task.kind == Kind::reduce) {
            task.op = problem.op;
            task.type = problem.type;
        }
        list.tasks.push_back(task);
    }
    return list;
}

std::uint64_t scaled_scratch(const ListSet& set, const Problem& problem, std::uint64_t chunks) {
    const std::uint64_t blocks = chunks / set.problem.bytes + 1;
    return problem.bytes > UINT64_MAX / blocks ? UINT64_MAX : Scale(set, problem).offset(chunks);
}

}  // namespace lapwing
