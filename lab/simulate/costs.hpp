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
    // By rendezvous: the number of windows after the request, 0 for an eager message; and the share of `wire`
    // of each window.
    std::uint64_t windows = 0;
    Time window_wire = 0;
};

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
        if (length >= parameters.rendezvous_bytes && length > 0) {
            cost.windows = (length - 1) / parameters.window_bytes + 1;
            cost.window_wire = cost.wire / static_cast<Time>(cost.windows);
        }
        costs.push_back(cost);
    }
    return costs;
}

}  // namespace lapwing::simulate
