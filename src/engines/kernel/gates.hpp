// A gate makes one chain wait until another one has reached some step. It is a byte through a socket pair,
// which is two to three times faster than an eventfd, and which counts. Linux 6.7 has futex operations, which
// would need no descriptors.
#pragma once

#include <vector>

namespace lapwing::kernel {

struct Gate {
    int entrance = -1;  // where signals are sent
    int exit = -1;      // where they are awaited
};

// Reuses gates. A gate must be empty when it is released.
class Gates {
  public:
    Gates() = default;
    Gates(const Gates&) = delete;
    Gates& operator=(const Gates&) = delete;
    ~Gates();

    // Throws Error (system) when no descriptors are left.
    Gate acquire();
    void release(Gate gate) { idle_.push_back(gate); }
    static void close(Gate gate);

  private:
    std::vector<Gate> idle_;
};

}  // namespace lapwing::kernel
