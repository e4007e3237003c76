#include "lapwing/cluster/own_cores.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "lapwing/cluster/processors.hpp"

namespace lapwing::tool {
namespace {

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

}  // namespace

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
