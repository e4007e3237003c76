// A job that the tool starts and waits for, to read the files of its ranks afterwards.
#pragma once

#include <string>

#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

// Continues in a child process. This process forwards signals to the child and ends with its status. If a
// signal kills this process, the child gets SIGTERM and can end its job and collect the files of the ranks.
void leave_guard();

// Runs the launcher and waits for its end. Passes on signals that other processes send to the tool; those of
// the terminal's keys reach the launcher directly. After one that ends jobs, nothing of the job runs on on
// this host. Gives the status as waitpid() does. Throws Error (system) when nothing was started.
int run_job(const Launch& launch);

// Ends this process as the launcher ended: by the same signal, if a signal ended it. Otherwise returns the
// exit status.
int end_as(int wait_status);

// Makes a directory beside `file` for files of the ranks. Throws Error (system).
std::string make_parts_directory(const std::string& file);

}  // namespace lapwing::tool
