#include "simulate/parameters.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace lapwing::simulate {

Parameters parameters_of(const Machine& machine) {
    Parameters parameters;
    parameters.latency = from_seconds(machine.latency);
    parameters.overhead = from_seconds(machine.task);
    parameters.per_byte = machine.per_byte * 1e12;
    parameters.near_latency = from_seconds(machine.intra_node_latency);
    parameters.near_overhead = from_seconds(machine.intra_node_task);
    parameters.near_per_byte = machine.intra_node_per_byte * 1e12;
    parameters.copy = from_seconds(machine.copy);
    parameters.copy_per_byte = machine.copy_per_byte * 1e12;
    return parameters;
}

void check(const Parameters& parameters) {
    const auto within = [](const char* what, double value, double least, double most) {
        if (value >= least && value <= most) return;
        throw Error(ErrorCode::invalid_argument, fmt::format("{} of {} ns must be from {} to {} ns", what,
                                                             value / 1e3, least / 1e3, most / 1e3));
    };
    if (parameters.window_bytes == 0)
        throw Error(ErrorCode::invalid_argument, "a rendezvous needs a window of at least one byte");
    const auto most = static_cast<double>(max_time);
    within("a latency", static_cast<double>(parameters.latency), nanosecond, most);
    within("a latency inside a host", static_cast<double>(parameters.near_latency), 0, most);
    within("an overhead", static_cast<double>(parameters.overhead), 0, most);
    within("an overhead inside a host", static_cast<double>(parameters.near_overhead), 0, most);
    within("a gap", static_cast<double>(parameters.gap), 0, most);
    within("a copy", static_cast<double>(parameters.copy), 0, most);
    for (const double per_byte : {parameters.per_byte, parameters.overhead_per_byte, parameters.near_per_byte,
                                  parameters.copy_per_byte})
        within("a byte", per_byte, 0, max_per_byte);
}

}  // namespace lapwing::simulate
