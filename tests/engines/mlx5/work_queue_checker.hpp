// Proves that work queues do what their lists say.
#pragma once

#include <span>
#include <string>

#include "engines/mlx5/work_queues.hpp"
#include "task/list.hpp"

namespace lapwing {

// Proves the work queues of all ranks' lists, which check() in task/checker.hpp must have proven. Returns the
// first fault with its rank and task, or an empty string if there is none. Finds: a send, copy or reduction
// that begins too early or waits for more than its list says; requests that are enabled twice, never, or
// before they are posted; stages whose end the processor cannot see; queues longer than `limits` allows;
// tasks left out or done twice; and, in a run of all ranks, queues that never end. A WAIT compares with
// counts that only grow, so one run represents all.
std::string check_work_queues(std::span<const List> lists, const WorkVariant& variant,
                              const WorkLimits& limits = {});
// The same for given work queues, one per list.
std::string check_work_queues(std::span<const List> lists, std::span<const WorkQueues> queues,
                              const WorkLimits& limits);

}  // namespace lapwing
