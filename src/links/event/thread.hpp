// Lapwing's own threads.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace lapwing {

// Runs `work` on a thread that receives no signals of the program. Throws Error (system).
std::thread start_thread(std::function<void()> work);

// For a thread that sleeps most of the time and runs briefly when it is woken: it does not wait for the end
// of another thread's time slice. Has an effect on Linux 6.12 and later.
void take_short_slices();

// The processors that the thread may use from now on; empty: all of the process. Throws Error
// (invalid_argument).
void place_thread(std::thread& thread, const std::vector<int>& processors);

}  // namespace lapwing
