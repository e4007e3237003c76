// One descriptor for two.
#pragma once

#include "base/descriptor.hpp"

namespace lapwing {

// A descriptor that is readable when one of two is; for poll() only.
class PollSet {
  public:
    // Returns -1 if one of them is negative. Valid until the next call; makes no system call while the two
    // stay the same. Throws Error (system).
    int of(int first, int second);

  private:
    Descriptor poller_;
    int watched_[2] = {-1, -1};
};

}  // namespace lapwing
