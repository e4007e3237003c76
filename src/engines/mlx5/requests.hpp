// From the requests of a list's work queues to entries of a card's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/mlx5/work_queues.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5 {

// The queues and the memory that a request names on this card.
struct Operands {
    std::uint32_t queue_pair = 0;  // the request's own
    Data data;                     // send, write, copy
    RemoteData target;             // copy; write: where its receiver wants it
    std::uint32_t object = 0;      // wait: the completion queue; enable: the queue pair
};

// Encodes a request, except its indices. A write of no bytes needs no address. A write whose target has no
// key becomes a send, which uses up a receive as well.
void put_request(std::byte* block, const WorkRequest& request, const Operands& operands);

// Sets the indices for one start. `index` is that of the request's block. The request's count is relative to
// `before`: for a wait, the index of the first completion of this start; for an enable, of the first request.
void rearm(std::byte* block, const WorkRequest& request, std::uint16_t index, std::uint32_t before);

}  // namespace lapwing::mlx5
