// Tells every rank of a group when one of them has ended, also those that exchange nothing with it: each rank
// keeps a connection to rank 0, over which nothing goes but a farewell, and before it what the ranks agree
// on.
//
// A process that ends closes its connections. Rank 0 sees that and tells the others why; when it is rank 0
// that ends, all see it. A rank that leaves in order says so before.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "links/connections.hpp"

namespace lapwing {

class Lifeline {
  public:
    // Gets the reason, once, on the event thread or on the one that gives up.
    using Lost = std::function<void(const std::string& why)>;

    // Uses lane 0 of `connections`, alone; they outlive it. Waits until the connections stand, for `limit` at
    // most. Throws Error (link).
    Lifeline(Connections& connections, int rank, int ranks, std::chrono::milliseconds limit, Lost lost);
    // This rank leaves in order.
    ~Lifeline();
    Lifeline(const Lifeline&) = delete;
    Lifeline& operator=(const Lifeline&) = delete;

    // Collective, once, with as many texts on all ranks: of each of them, the lowest rank's that is not
    // empty. Waits for all ranks, for `limit` at most. Throws Error (link), also when one of them ends
    // meanwhile; all have lost each other then.
    std::vector<std::string> agree(std::vector<std::string> mine, std::chrono::milliseconds limit);

    // This rank gives up: all get to know why. By any thread.
    void give_up(const std::string& why);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace lapwing
