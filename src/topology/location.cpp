#include "topology/location.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/text_file.hpp"
#include "base/values.hpp"

namespace lapwing::topology {
namespace {

// Returns -1 if the file has no number.
int number_in(const std::string& path) {
    const auto number = parse_number(first_line(path));
    return number && *number <= 1U << 30U ? static_cast<int>(*number) : -1;
}

// A set of processors, in ascending order; empty if unknown.
std::vector<int> processors_in(const std::string& path) {
    const std::string line = first_line(path);
    return line.empty() ? std::vector<int>{} : parse_processors(line).value_or(std::vector<int>{});
}

// The name of the file depends on the version of Linux.
std::vector<int> processors_in(const std::string& directory, const char* name, const char* old_name) {
    std::vector<int> found = processors_in(directory + name);
    return found.empty() ? processors_in(directory + old_name) : found;
}

bool all_in(std::span<const int> some, std::span<const int> all) {
    return !some.empty() && std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// The NUMA node that the processor's directory links to, or -1 if Linux has no NUMA support.
int node_of(const std::string& processor) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(processor.c_str()), closedir);
    if (!directory) return -1;
    while (const dirent* entry = readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (!name.starts_with("node")) continue;
        if (const auto number = parse_number(name.substr(4)); number && *number <= 1U << 20U)
            return static_cast<int>(*number);
    }
    return -1;
}

// The processors that share the last-level cache.
std::vector<int> sharers_of_cache(const std::string& processor) {
    int last_level = 0;
    std::vector<int> sharers;
    for (int index = 0;; ++index) {
        const std::string cache = fmt::format("{}/cache/index{}/", processor, index);
        const int level = number_in(cache + "level");
        if (level < 0) return sharers;
        if (level <= last_level) continue;
        last_level = level;
        sharers = processors_in(cache + "shared_cpu_list");
    }
}

struct FreeSet {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

std::vector<int> allowed_processors() {
    for (int processors = 1024; processors <= 1 << 20; processors *= 4) {
        const std::size_t bytes = CPU_ALLOC_SIZE(processors);
        const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(processors));
        if (!set) return {};
        // Linux refuses sets that are smaller than its own.
        if (sched_getaffinity(0, bytes, set.get()) != 0) {
            if (errno == EINVAL) continue;
            return {};
        }
        std::vector<int> allowed;
        for (int i = 0; i < processors; ++i) {
            if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, set.get())) allowed.push_back(i);
        }
        return allowed;
    }
    return {};
}

Location locate(std::span<const int> allowed, const std::string& system) {
    Location found;
    if (allowed.empty()) return found;
    found.processor = allowed.front();
    const std::string processor = fmt::format("{}/cpu/cpu{}", system, found.processor);
    const std::string topology = processor + "/topology/";

    const std::vector<int> of_package = processors_in(topology, "package_cpus_list", "core_siblings_list");
    found.package = number_in(topology + "physical_package_id");
    // Some machines do not number their packages.
    if (found.package < 0 && !of_package.empty()) found.package = of_package.front();
    found.node = node_of(processor);
    const std::vector<int> of_cache = sharers_of_cache(processor);
    if (!of_cache.empty()) found.cache = of_cache.front();
    const std::vector<int> of_core = processors_in(topology, "core_cpus_list", "thread_siblings_list");
    if (!of_core.empty()) {
        found.core = of_core.front();
        const auto thread = std::ranges::find(of_core, found.processor);
        if (thread != of_core.end()) found.thread = static_cast<int>(thread - of_core.begin());
    }

    if (all_in(processors_in(system + "/cpu/online"), allowed)) {
        found.bound_to = Part::machine;
    } else if (allowed.size() == 1) {
        found.bound_to = Part::thread;
    } else if (all_in(allowed, of_core)) {
        found.bound_to = Part::core;
    } else if (all_in(allowed, of_cache)) {
        found.bound_to = Part::cache;
    } else if (found.node >= 0 &&
               all_in(allowed, processors_in(fmt::format("{}/node/node{}/cpulist", system, found.node)))) {
        found.bound_to = Part::node;
    } else if (all_in(allowed, of_package)) {
        found.bound_to = Part::package;
    }
    return found;
}

}  // namespace lapwing::topology
