// The share of a host's processors that a job may use.
#pragma once

#include <filesystem>

namespace lapwing::topology {

// How many of `online` processors the control group of this process, or one above it, leaves to all of its
// processes together: by a set of processors or by a quota of their time, as containers and batch systems
// give them. Reads control groups of version 2; tests describe their own.
long processors_of_group(long online, const std::filesystem::path& file = "/proc/self/cgroup",
                         const std::filesystem::path& root = "/sys/fs/cgroup");

// Of this host, in the container or job; read once.
long processors_here();

}  // namespace lapwing::topology
