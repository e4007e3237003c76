// Gates: what a chain can block on until another has come to some point. A byte through a socket pair: two to
// three times faster than an eventfd, and it counts. Linux 6.7 has futex operations, which would need no
// descriptors.
#pragma once

#include <vector>

namespace lapwing::kernel {

struct Gate {
    int entrance = -1;  // where signals are sent
    int exit = -1;      // where they are awaited
};

// Keeps gates for the next run. A gate that is given back must be empty.
class Gates {
  public:
    Gates() = default;
    Gates(const Gates&) = delete;
    Gates& operator=(const Gates&) = delete;
    ~Gates();

    // Throws Error (system) when no descriptors are left.
    Gate take();
    void give_back(Gate gate) { idle_.push_back(gate); }
    static void close(Gate gate);

  private:
    std::vector<Gate> idle_;
};

}  // namespace lapwing::kernel
