// How the kernel engine uses the connections of a group.
#pragma once

#include <cstdint>

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
    // Receives of at least this many bytes wait until so many have arrived, which saves interrupts
    // (PlannedStep::low_water_mark). 0: never. Only for TCP, and only if sets_socket_options().
    std::uint64_t low_water_mark = 0;
};

}  // namespace lapwing::kernel
