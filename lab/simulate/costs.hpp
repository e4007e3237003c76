// The costs of each message length, computed once.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "simulate/lists.hpp"
#include "simulate/parameters.hpp"

namespace lapwing::simulate {

struct Cost {
    Time processor = 0;  // of a send, and of a wait
    Time latency = 0;
    Time wire = 0;  // of an interface or a link, without the gap
    Time near_processor = 0;
    Time near_latency = 0;
    Time near_wire = 0;
    Time copy = 0;
    Time reduce = 0;
    // By rendezvous: the number of windows after the request, 0 for an eager message; and the shares of
    // `wire` of the request, and of each window.
    std::uint64_t windows = 0;
    Time request_wire = 0;
    Time window_wire = 0;
    bool whole_request = false;  // no bytes are left for a window
};

inline void use_rendezvous(Cost& cost, std::uint64_t length, const Parameters& parameters) {
    const std::uint64_t first = std::min(length, parameters.request_bytes);
    const std::uint64_t rest = length - first;
    cost.request_wire = static_cast<Time>(std::llround(static_cast<double>(first) * parameters.per_byte));
    cost.whole_request = parameters.request_bytes > 0 && rest == 0;
    cost.windows = rest == 0 ? 1 : (rest - 1) / parameters.window_bytes + 1;
    cost.window_wire = (cost.wire - cost.request_wire) / static_cast<Time>(cost.windows);
}

inline std::vector<Cost> costs_of(const Lists& lists, const Parameters& parameters) {
    std::vector<Cost> costs;
    costs.reserve(lists.lengths.size());
    for (const std::uint64_t length : lists.lengths) {
        const auto bytes_at = [length](double picoseconds) {
            return static_cast<Time>(std::llround(static_cast<double>(length) * picoseconds));
        };
        Cost cost;
        cost.processor = parameters.overhead + bytes_at(parameters.overhead_per_byte);
        cost.latency = parameters.latency;
        cost.wire = bytes_at(parameters.per_byte);
        cost.near_processor = parameters.near_overhead + bytes_at(parameters.overhead_per_byte);
        cost.near_latency = parameters.near_latency;
        cost.near_wire = bytes_at(parameters.near_per_byte);
        cost.reduce = bytes_at(parameters.copy_per_byte);
        cost.copy = parameters.copy + cost.reduce;
        if (length >= parameters.rendezvous_bytes && length > 0) use_rendezvous(cost, length, parameters);
        costs.push_back(cost);
    }
    return costs;
}

}  // namespace lapwing::simulate
