// A job that the tool starts and waits for, to read the files of its ranks afterwards.
#pragma once

#include <string>

#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

// The caller goes on in a child of this process, which passes signals on to it and ends as it does. When any
// signal kills this process, the child gets SIGTERM: it can end its job and see to the files of the ranks.
void leave_guard();

// Runs the launcher and waits for its end. Passes on signals that other processes send to the tool; those of
// the terminal's keys reach the launcher directly. After one that ends jobs, nothing of the job runs on on
// this host. Gives the status as waitpid() does. Throws Error (system) when nothing was started.
int run_job(const Launch& launch);

// Ends as the launcher has ended, by the same signal if it was one: gives the exit status otherwise.
int end_as(int wait_status);

// A new directory beside `file`, for what the ranks write. Throws Error (system).
std::string make_parts_directory(const std::string& file);
// Throws Error (system) unless a file can be written there; makes an empty one.
void require_writable(const std::string& file, const char* what);

}  // namespace lapwing::tool
