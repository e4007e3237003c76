// The variables that say how problems are planned, and how connections are made and used.
#pragma once

#include <vector>

#include "base/settings.hpp"
#include "engines/engine.hpp"
#include "links/shm/node.hpp"
#include "links/tcp/options.hpp"
#include "plan/planner.hpp"

namespace lapwing {

struct NetworkSettings {
    tcp::Options tcp;
    bool shared_memory = true;              // between ranks of one host
    std::uint64_t max_bytes_by_memory = 0;  // inside a host, of lists that span several
    shm::TransferMethod transfer = shm::TransferMethod::automatic;
    int lanes = 1;  // connections between two ranks of a group
    EngineOptions engine_options;
    DeferredWorkOptions deferred_work;
    std::string network = "auto";          // what joins hosts
    std::vector<int> progress_processors;  // of the progress thread and the event thread; empty: any

    // Whether a progress thread may run lists: nobody has said no.
    bool may_have_progress_thread() const {
        return engine_options.event_thread_work != EventThreadWork::none;
    }
    // Whether it shall do so inside one host, too: somebody has said yes.
    bool has_progress_thread_inside() const {
        return engine_options.event_thread_work == EventThreadWork::all;
    }
};

// Both throw Error (invalid_argument) that names the variable and its form; the second also Error (parse,
// system) for the tuning file. Beside the engines' own names and "auto", `engine_words` are allowed.
NetworkSettings read_network_settings(const Settings& settings);
PlanOptions read_plan_options(const Settings& settings, const std::vector<std::string>& engine_words = {});
// Whether buffers may be in the memory of devices. Throws Error (invalid_argument), too.
bool takes_device_memory(const Settings& settings);

}  // namespace lapwing
