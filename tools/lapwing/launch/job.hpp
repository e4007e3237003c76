// A job that the tool starts and waits for, to read the files of its ranks afterwards.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <string>

#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

// A directory for files of the ranks of a job, PREFIX-HOST-XXXXXX, as long as this object lives.
class JobDirectory {
  public:
    // Removes those of this prefix and host whose tools were killed. Throws Error (system).
    explicit JobDirectory(const std::string& prefix);
    ~JobDirectory();
    JobDirectory(const JobDirectory&) = delete;
    JobDirectory& operator=(const JobDirectory&) = delete;

    const std::string& path() const { return path_; }
    void keep() { kept_ = true; }
    void remove() const;

  private:
    std::string path_;
    int lock_ = -1;  // the directory, locked: a tool that works with it lives
    bool kept_ = false;
};

// Continues in a child process. This process forwards signals to the child and ends with its status. If a
// signal kills this process, the child gets SIGTERM and can end its job and collect the files of the ranks;
// if the child is killed, this process removes the directories. Null pointers are ignored.
void leave_guard(std::initializer_list<const JobDirectory*> directories);

// While it lives, signals for the tool wait for run_job() instead of ending the tool.
struct HeldSignals {
    HeldSignals();
    void release() const;

    sigset_t awaited;  // with SIGCHLD
    sigset_t before;
};

struct JobEnd {
    int status = 0;      // as waitpid() gives it
    int signal = 0;      // that was to end the job; 0: none
    double seconds = 0;  // from the start of the launcher to its end
};

// Runs the launcher and waits for its end. Passes on signals that other processes send to the tool; those of
// the terminal's keys reach the launcher directly. After one that ends jobs, nothing of the job runs on on
// this host. `input`, `output`: descriptors in place of the tool's standard input, and of its standard output
// and error. Throws Error (system) when nothing was started. If a signal that ends jobs has come before, it
// starts nothing, and the status is that of a job that this signal ended.
JobEnd run_job(const HeldSignals& held, const Launch& launch, int input, int output);

// Runs a single job with the tool's streams. Returns the status as waitpid() gives it.
int run_job(const Launch& launch);

// Ends this process as the launcher ended: by the same signal, if a signal ended it. Otherwise returns the
// exit status.
int end_as(int wait_status);

}  // namespace lapwing::tool
