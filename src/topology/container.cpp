#include "topology/container.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/values.hpp"

namespace lapwing::topology {

long processors_of_group(long online, const std::filesystem::path& file, const std::filesystem::path& root) {
    // "0::/user.slice/job"; other numbers are of version 1.
    std::ifstream groups(file);
    std::string line;
    while (std::getline(groups, line) && !line.starts_with("0::/")) {
    }
    if (!line.starts_with("0::/")) return online;
    long usable = online;
    std::filesystem::path own = line.substr(4);
    for (;; own = own.parent_path()) {
        std::string set;
        if (std::ifstream(root / own / "cpuset.cpus.effective") >> set) {
            if (const auto processors = parse_processors(set); processors && !processors->empty())
                usable = std::min(usable, static_cast<long>(processors->size()));
        }
        double quota = 0;  // "max" is none
        double period = 0;
        if (std::ifstream(root / own / "cpu.max") >> quota >> period && quota > 0 && period > 0)
            usable = std::min(usable, std::max(1L, static_cast<long>(quota / period)));
        if (own.empty()) return usable;
    }
}

long processors_here() {
    static const long found = processors_of_group(::sysconf(_SC_NPROCESSORS_ONLN));
    return found;
}

}  // namespace lapwing::topology
