// The variables that say how the ranks of a job are joined.
#pragma once

#include <string>

#include "base/settings.hpp"
#include "engines/job.hpp"
#include "engines/progress_choice.hpp"
#include "links/shm/node.hpp"
#include "plan/planner.hpp"
#include "topology/host_order.hpp"

namespace lapwing {

struct NetworkSettings {
    std::string network = "auto";  // between hosts
    bool shared_memory = true;     // between ranks of one host
    shm::TransferMethod transfer = shm::TransferMethod::automatic;
    bool memory_only_inside = false;  // LAPWING_INSIDE=memory
    ProgressChoice progress;

    bool may_have_progress_thread() const { return progress.lists != ProgressLists::none; }
};

// Throws Error (invalid_argument) that names the variable and its valid values.
NetworkSettings read_network_settings(const Settings& settings);

// Of the variables that must not differ between ranks, whose lists would not fit together.
std::uint64_t setting_fingerprint(const Settings& settings);
// Collective over the job, with the fingerprints of all ranks: throws Error (invalid_argument), on all ranks,
// for a variable that differs.
void compare_settings(Job& job, const std::vector<std::uint64_t>& fingerprints);

// LAPWING_TOPOLOGY. Throws Error (parse, system).
topology::HostOrder read_host_order(const Settings& settings);

// Collective: throws Error (invalid_argument) unless the files that the settings name, and the lists of
// `options`, are equal on all ranks.
void compare_files(Job& job, const PlanOptions& options, const topology::HostOrder& hosts);

// Throws the same for any variable of a job, also for those that only one engine reads.
void check_settings(const Settings& settings);

}  // namespace lapwing
