#include "engines/mlx5/plan.hpp"

#include <algorithm>

namespace lapwing::mlx5 {
namespace {

// Longer buffers are registered for each run, which costs less than copying them.
constexpr std::uint64_t max_bytes_bounced = 32768;
// Lists with longer scratch memory have no two memories that peers write to.
constexpr std::uint64_t max_scratch_bytes_written = 131072;

template <typename Which>
std::vector<Span> targets_in_out(const List& list, Which which) {
    std::vector<Span> spans;
    for (const Task& task : list.tasks) {
        if (which(task) && task.target.space == Space::out && task.target.length > 0)
            spans.push_back(task.target);
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.offset < b.offset; });
    std::vector<Span> merged;
    for (const Span& span : spans) {
        if (!merged.empty() && span.offset <= merged.back().end()) {
            merged.back().length = std::max(merged.back().end(), span.end()) - merged.back().offset;
        } else {
            merged.push_back(span);
        }
    }
    return merged;
}

// Of `out`; `spans` in order, without overlaps.
std::vector<Span> all_but(const std::vector<Span>& spans, std::uint64_t bytes) {
    std::vector<Span> left;
    std::uint64_t begin = 0;
    for (const Span& span : spans) {
        if (span.offset > begin) left.push_back({Space::out, begin, span.offset - begin});
        begin = span.end();
    }
    if (bytes > begin) left.push_back({Space::out, begin, bytes - begin});
    return left;
}

}  // namespace

bool bounced(const List& list) {
    return list.in_bytes + list.out_bytes <= max_bytes_bounced;
}

bool written_to(const List& list) {
    return mlx5::bounced(list) && list.scratch_bytes <= max_scratch_bytes_written;
}

bool sends_only(const Problem& problem) {
    switch (problem.collective) {
        case Collective::barrier:
        case Collective::broadcast:
        case Collective::allgather:
        case Collective::alltoall:
        case Collective::allreduce:
            return false;
        default:
            return true;
    }
}

Plan::Plan(const List& list, const WorkVariant& variant, const WorkLimits& limits,
           std::optional<std::uint32_t> number_of_landing)
    : queues(lower_to_work_queues(list, variant, limits)),
      in_bytes(list.in_bytes),
      out_bytes(list.out_bytes),
      scratch_bytes(list.scratch_bytes),
      written(targets_in_out(list, [](const Task& task) { return (fields(task.kind) & TARGET) != 0; })),
      not_received(all_but(targets_in_out(list, [](const Task& task) { return task.kind == Kind::recv; }),
                           list.out_bytes)),
      bounced(mlx5::bounced(list)),
      landing(number_of_landing),
      written_to(landing.has_value() && mlx5::written_to(list)) {}

}  // namespace lapwing::mlx5
