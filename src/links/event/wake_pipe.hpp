// Wakes a thread that sleeps in poll(), by any thread or process that has the writing end. A pipe, because
// other processes of the same user can open it under /proc, as they cannot an eventfd.
#pragma once

#include <sys/types.h>

namespace lapwing {

class WakePipe {
  public:
    // Throws Error (system).
    WakePipe();
    ~WakePipe();
    WakePipe(const WakePipe&) = delete;
    WakePipe& operator=(const WakePipe&) = delete;

    // For poll(): readable from the first wake() until drain().
    int descriptor() const { return ends_[0]; }
    void drain() const;

    // The other end, of this process.
    int writer() const { return ends_[1]; }
    // Opens the one that another process has under this number; the caller closes it. Throws Error (system).
    static int open_writer(pid_t process, int writer);
    // Never waits: what is full wakes as well.
    static void wake(int writer);

  private:
    int ends_[2] = {-1, -1};
};

}  // namespace lapwing
