// How the kernel engine uses the connections of a group.
#pragma once

#include <cstdint>

#include "base/settings.hpp"
#include "engines/progress_choice.hpp"

namespace lapwing::kernel {

struct Options {
    // The lists whose copies and reductions the event thread of the connections does.
    ProgressLists event_thread_lists = ProgressLists::none;
    // The event thread submits lists to the kernel, so that the kernel does not interrupt a thread of the
    // program.
    bool event_thread_submits = false;
    // The last lanes of the connections are for persistent channels: channel first_persistent_channel + i has
    // lane i of them. Other channels use the remaining lanes in turn.
    int persistent_lanes = 0;
    // Bytes that wait in a socket while its receiver does something else.
    std::uint64_t socket_bytes = 131072;
};

// Throws Error (invalid_argument).
Options read_options(const Settings& settings);

}  // namespace lapwing::kernel
