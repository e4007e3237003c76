// Wakes a thread that sleeps in poll(), from any thread or process that has the writing end. A pipe, because
// other processes of the same user can open it under /proc; they cannot open an eventfd.
#pragma once

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace lapwing {

class WakePipe {
  public:
    // Throws Error (system).
    WakePipe();

    // For poll(): readable from the first wake() until drain().
    int descriptor() const { return reader_.get(); }
    void drain() const;

    // The writing end in this process.
    int writer() const { return writer_.get(); }
    // Opens the writing end of another process by its descriptor there. Throws Error (system).
    static Descriptor open_writer(pid_t process, int writer);
    // Never waits: a full pipe wakes as well.
    static void wake(int writer);

  private:
    Descriptor reader_;
    Descriptor writer_;
};

}  // namespace lapwing
