// Connections between the ranks of a group, as descriptors of stream sockets.
#pragma once

#include <functional>
#include <string>

#include "links/event/event_loop.hpp"

namespace lapwing {

// Between two ranks there are up to lanes() connections. Every collective of a group uses one lane, so that
// several can be in flight.
class Connections {
  public:
    virtual ~Connections() = default;
    virtual int lanes() const = 0;

    // Requests the connection to `peer` on `lane`. Does not wait for it; repeated calls cost little.
    virtual void want(int peer, int lane) = 0;
    // Its descriptor (nonblocking, owned by the Connections); -1 while it is being made. Throws Error (link)
    // when it cannot be made.
    virtual int descriptor(int peer, int lane) = 0;
    // Runs `work` on the event thread each time a connection of this group has been made, or cannot be made.
    // Replaces the former one; an empty function removes it, and does not return before it has ended.
    virtual void on_change(std::function<void()> work) = 0;

    // "rank 3 (node2, 10.77.0.3)"
    virtual std::string describe(int peer) const = 0;
    // Shuts all connections down: waiting threads see their end, here and at the peers. Connections that are
    // still being made fail with `why`. By any thread.
    virtual void give_up(const std::string& why) = 0;

    virtual EventLoop& event_loop() = 0;
};

// What an errno of a connection to `peer` means: "rank 3 (node2, 10.77.0.3) closed the connection: ...".
std::string why_broken(const Connections& connections, int peer, int error);

}  // namespace lapwing
