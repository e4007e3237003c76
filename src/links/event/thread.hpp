// Threads of Lapwing's own, beside the program's.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace lapwing {

// Runs `work` on a thread that takes none of the program's signals. Throws Error (system).
std::thread start_thread(std::function<void()> work);

// The processors that it may use from now on; empty: all that the process may. Throws Error
// (invalid_argument).
void place_thread(std::thread& thread, const std::vector<int>& processors);

}  // namespace lapwing
