// Wakes a thread that sleeps in poll(), from any thread or process that has the writing end. A pipe, because
// other processes of the same user can open it under /proc; they cannot open an eventfd.
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

    // The writing end in this process.
    int writer() const { return ends_[1]; }
    // Opens the writing end of another process by its descriptor there; the caller closes it. Throws Error
    // (system).
    static int open_writer(pid_t process, int writer);
    // Never waits: a full pipe wakes as well.
    static void wake(int writer);

  private:
    int ends_[2] = {-1, -1};
};

}  // namespace lapwing
