// Where a process runs in its host's machine: its binding, from Linux's /sys.
//
// The preload libraries do not use hwloc: the MPI may have loaded another version of it, and hwloc reads the
// whole machine when only one processor is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lapwing::topology {

// Parts of a machine. Each is inside the next.
enum class Part : std::uint8_t { thread, core, cache, node, package, machine };

// Numbers are those of Linux; -1: unknown.
struct Location {
    // The first processor that the process may run on, and the parts that it is in.
    int processor = -1;
    int package = -1;
    int node = -1;    // NUMA node
    int cache = -1;   // the first of the processors that share the last-level cache
    int core = -1;    // the first of the core's processors
    int thread = -1;  // the processor's index in the core
    // The smallest part that contains all processors on which the process may run; machine: not bound.
    Part bound_to = Part::machine;

    bool operator==(const Location&) const = default;
};

// Returns the processors on which the calling thread may run, in ascending order; empty if unknown.
std::vector<int> allowed_processors();

// `allowed`: the result of allowed_processors(). Tests describe machines of their own in another `system`.
Location locate(std::span<const int> allowed, const std::string& system = "/sys/devices/system");

}  // namespace lapwing::topology
