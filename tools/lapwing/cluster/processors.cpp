#include "lapwing/cluster/processors.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "topology/location.hpp"

namespace lapwing::tool {
namespace {

// The usable processors of each core, neighbours in the machine next to each other.
std::vector<std::vector<int>> usable_cores(hwloc_topology_t machine) {
    const std::vector<int> usable = topology::allowed_processors();
    std::vector<std::vector<int>> cores;
    hwloc_obj_t last = nullptr;
    for (hwloc_obj_t processor = nullptr;
         (processor = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, processor)) != nullptr;) {
        const auto number = static_cast<int>(processor->os_index);
        if (!std::binary_search(usable.begin(), usable.end(), number)) continue;
        const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_CORE, processor);
        if (cores.empty() || core == nullptr || core != last) cores.emplace_back();
        cores.back().push_back(number);
        last = core;
    }
    return cores;
}

}  // namespace

Machine load_machine() {
    hwloc_topology_t machine = nullptr;
    if (hwloc_topology_init(&machine) != 0) throw_system("hwloc");
    Machine owner(machine, hwloc_topology_destroy);
    if (hwloc_topology_load(machine) != 0) throw_system("hwloc cannot read this machine");
    return owner;
}

int usable_processors() {
    return static_cast<int>(topology::allowed_processors().size());
}

std::vector<std::vector<int>> divide_processors(int hosts) {
    if (hosts > usable_processors()) return {};
    std::vector<std::vector<int>> units = usable_cores(load_machine().get());
    const auto count = static_cast<std::size_t>(hosts);
    if (units.size() < count) {
        std::vector<std::vector<int>> single;
        for (const std::vector<int>& core : units) {
            for (const int processor : core) single.push_back({processor});
        }
        units = std::move(single);
    }
    if (units.size() < count) return {};
    const std::size_t each = units.size() / count;
    std::vector<std::vector<int>> result(count);
    for (std::size_t unit = 0; unit < each * count; ++unit) {
        std::vector<int>& host = result[unit / each];
        host.insert(host.end(), units[unit].begin(), units[unit].end());
    }
    return result;
}

}  // namespace lapwing::tool
