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

// Collective over the job: throws Error (invalid_argument), on all ranks, for a variable that differs between
// ranks although it must not: their lists would not fit together.
void compare_settings(Job& job);

// Collective: throws the same unless a file of this fingerprint is equal on all ranks. `variable` names
// `path`.
void compare_file(Job& job, const char* variable, const std::string& path, std::uint64_t fingerprint);

// Collective: throws the same unless the tuning file and the list files of `options` are equal on all ranks.
void compare_files(Job& job, const PlanOptions& options);

// Collective: reads LAPWING_TOPOLOGY. Throws the same, and Error (parse, system).
topology::HostOrder read_host_order(Job& job);

// Throws the same for any variable of a job, also for those that only one engine reads.
void check_settings(const Settings& settings);

}  // namespace lapwing
