#include "links/tcp/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace lapwing::tcp {

std::uint64_t free_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    std::error_code error;
    std::filesystem::directory_iterator at("/proc/self/fd", error);
    if (error.value() == EMFILE) return 0;
    // The limit is for the numbers of descriptors: larger ones, from before it was lowered, do not count.
    std::uint64_t used = 0;
    for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error))
        if (std::strtoull(at->path().filename().c_str(), nullptr, 10) < limit.rlim_cur) ++used;
    if (used > 0) --used;  // the directory itself
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

// A process may raise its limit as far as the hard one.
std::uint64_t raise_descriptor_limit(std::uint64_t by) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, before + by);
    if (limit.rlim_cur == before || setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return limit.rlim_cur - before;
}

std::uint64_t make_room_for_descriptors(std::uint64_t wanted) {
    const std::uint64_t free = free_descriptors();
    return free >= wanted || raise_descriptor_limit(wanted - free) == 0 ? free : free_descriptors();
}

}  // namespace lapwing::tcp
