#include "lapwing/cluster/processors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "topology/location.hpp"

namespace lapwing::tool {
namespace {

using Machine = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Set = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

// Open MPI 5 takes hosts with equal architectures and equal numbers of cores for equal, and would bind the
// ranks of all of them by the first one's description.
void tell_apart(std::string& description, const std::vector<int>& cores) {
    constexpr std::string_view before = "name=\"Architecture\" value=\"";
    const std::size_t found = description.find(before);
    if (found == std::string::npos) return;
    const std::size_t end = description.find('"', found + before.size());
    if (end != std::string::npos) description.insert(end, fmt::format(" cores {}", fmt::join(cores, ",")));
}

// The processors in hwloc's description of this machine. Throws Error (system).
Machine load_machine() {
    hwloc_topology_t machine = nullptr;
    if (hwloc_topology_init(&machine) != 0) throw_system("hwloc");
    Machine owner(machine, hwloc_topology_destroy);
    if (hwloc_topology_load(machine) != 0) throw_system("hwloc cannot read this machine");
    return owner;
}

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

void write_machine_files(const ClusterShape& shape) {
    std::map<std::vector<int>, std::string> written;
    Machine machine(nullptr, hwloc_topology_destroy);
    for (const ClusterHost& host : shape.hosts) {
        if (host.cores.empty()) continue;
        std::string& text = written[host.cores];
        if (text.empty()) {
            if (!machine) machine = load_machine();
            hwloc_topology_t copy = nullptr;
            if (hwloc_topology_dup(&copy, machine.get()) != 0) throw_system("hwloc");
            const Machine owner(copy, hwloc_topology_destroy);
            const Set kept(hwloc_bitmap_alloc(), hwloc_bitmap_free);
            for (const int core : host.cores) hwloc_bitmap_set(kept.get(), static_cast<unsigned>(core));
            char* xml = nullptr;
            int length = 0;
            if (hwloc_topology_restrict(copy, kept.get(), 0) != 0 ||
                hwloc_topology_export_xmlbuffer(copy, &xml, &length, 0) != 0) {
                throw_system("hwloc cannot describe a host");
            }
            text.assign(xml, std::strlen(xml));
            hwloc_free_xmlbuffer(copy, xml);
            tell_apart(text, host.cores);
        }
        write_cluster_file(host.name + ".xml", text);
    }
}

void take_processors(const ClusterHost& host) {
    if (host.cores.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : host.cores) CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw Error(ErrorCode::system,
                    fmt::format("cannot use cores {}: {}", fmt::join(host.cores, ","), std::strerror(errno)));
    }
    for (const char* own : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"}) {
        if (std::getenv(own) != nullptr) return;
    }
    setenv("HWLOC_XMLFILE", fmt::format("{}/{}.xml", cluster_directory, host.name).c_str(), 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
}

}  // namespace lapwing::tool
