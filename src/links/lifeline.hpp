// Reports the end of a rank to all ranks of its group, also to those that exchange nothing with it. Each rank
// has a connection to rank 0, which carries only a greeting and a farewell.
//
// A process that ends closes its connections. Rank 0 sees that and forwards the reason to the others; the end
// of rank 0 is seen by all. A rank that leaves in order sends a farewell first.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "links/connections.hpp"

namespace lapwing {

class Lifeline {
  public:
    // Called once with the reason, on the event thread or by fail().
    using Lost = std::function<void(const std::string& why)>;

    // Uses lane 0 of `connections` alone; they must outlive it. Waits for the connections, up to `limit`.
    // Throws Error (link).
    Lifeline(Connections& connections, int rank, int ranks, std::chrono::milliseconds limit, Lost lost);
    // Sends the farewell.
    ~Lifeline();
    Lifeline& operator=(Lifeline&&) = delete;

    // All ranks get the reason. By any thread.
    void fail(const std::string& why);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace lapwing
