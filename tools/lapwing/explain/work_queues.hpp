// Work queues as a card reads them: entry by entry, byte by byte.
#pragma once

#include <string>

#include "task/work_queues.hpp"

namespace lapwing::tool {

// By the engine's own encoder, for queues that are new, with numbers, keys and addresses that stand for a
// card's.
std::string print_entries(const WorkQueues& queues);

}  // namespace lapwing::tool
