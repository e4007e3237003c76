// Threads of Lapwing's own, beside the program's.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace lapwing {

// Runs `work` on a thread that takes none of the program's signals. Throws Error (system).
std::thread start_thread(std::function<void()> work);

// Called by a thread that sleeps most of the time and has little to do when it is woken: it shall not wait
// for the end of another's time slice. As far as the system lets it: Linux 6.12 and later.
void take_short_slices();

// The processors that it may use from now on; empty: all that the process may. Throws Error
// (invalid_argument).
void place_thread(std::thread& thread, const std::vector<int>& processors);

}  // namespace lapwing
