// Work queues as a card reads them: entry by entry, byte by byte.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engines/mlx5/work_queues.hpp"

namespace lapwing::mlx5 {

// Where messages are written in the variants that write.
struct Written {
    bool here = false;  // this rank's are written, not sent
    // Where the peer has those of this rank, in their order; empty: they are sent.
    std::function<std::vector<Span>(int peer)> at;
};

// By the engine's own encoder, for queues that are new, with numbers, keys and addresses that stand for a
// card's.
std::string print_entries(const WorkQueues& queues, const Written& written);

}  // namespace lapwing::mlx5
