// Connections between the ranks of a group, as descriptors of stream sockets that an engine can hand to the
// kernel.
#pragma once

#include <functional>
#include <string>

#include "links/event/event_loop.hpp"

namespace lapwing {

// Between two ranks there are up to lanes() connections. Every collective of a group uses one lane, so that
// several can be in flight; on one connection bytes keep their order.
class Connections {
  public:
    virtual ~Connections() = default;
    virtual const char* name() const = 0;

    virtual int lanes() const = 0;

    // Asks for the connection to `peer` on `lane`. Does not wait for it; repeated calls cost little.
    virtual void want(int peer, int lane) = 0;
    // Its descriptor (nonblocking, owned by the Connections); -1 while it is being made. Throws Error (link)
    // when it cannot be made.
    virtual int descriptor(int peer, int lane) = 0;
    // `work` runs on the event thread each time a connection of this group has been made, or cannot
    // be. At most one; an empty function removes it, and when that returns it does not run any more.
    virtual void on_change(std::function<void()> work) = 0;

    // "rank 3 (node2, 10.77.0.3)": for messages.
    virtual std::string describe(int peer) const = 0;
    // Whether a connection to `peer` was given up here because the network has been silent for too long.
    virtual bool silent(int peer) const = 0;
    // Shuts all connections down, so that whoever waits at them sees their end, here and at the peers; those
    // that are still being made fail with `why`. By any thread.
    virtual void give_up(const std::string& why) = 0;

    virtual EventLoop& event_loop() = 0;
};

// "rank 3 (node2, 10.77.0.3) closed the connection: ...": what `error`, an errno, of a connection to `peer`
// means.
std::string why_broken(const Connections& connections, int peer, int error);
// Whether that is a reason which the peer knows better: it has closed the connection.
bool peer_knows_better(const std::string& why);

}  // namespace lapwing
