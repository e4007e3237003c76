// Where in its host's machine a process runs: its binding, as Linux tells of it in /sys.
//
// The MPI may have an hwloc of its own in the process, of another version; and hwloc reads the whole machine,
// when only one processor is asked for. So the preload libraries do without it; `lapwing topology`, a process
// of its own, draws the machine by hwloc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lapwing::topology {

// Parts of a machine, each inside the next.
enum class Part : std::uint8_t { thread, core, cache, node, package, machine };

// Numbers are Linux's; -1: not told.
struct Location {
    // The first processor that the process may run on, and where it is.
    int processor = -1;
    int package = -1;
    int node = -1;    // NUMA node
    int cache = -1;   // the first of the processors that share the last-level cache
    int core = -1;    // the first of the core's processors
    int thread = -1;  // the processor's place among those
    // The smallest part that has all processors on which the process may run; the machine: it is not bound.
    Part bound_to = Part::machine;

    bool operator==(const Location&) const = default;
};

// The processors on which the calling thread may run, in ascending order; none when Linux does not say.
std::vector<int> allowed_processors();

// `allowed` as above. `system` stands for Linux's directory, so that tests can have machines of their own.
Location locate(std::span<const int> allowed, const std::string& system = "/sys/devices/system");

}  // namespace lapwing::topology
