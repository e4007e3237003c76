// The link over connections of the group's own. It is what the host engine stands on where there is no MPI.
#pragma once

#include <string>

#include "links/link.hpp"
#include "links/streams.hpp"

namespace lapwing {

// Not thread-safe. When one connection breaks, all transfers fail, and the connections are given up.
class StreamLink final : public Link {
  public:
    // Uses lane 0 of `connections`, alone; they outlive it. Throws Error (system).
    StreamLink(Connections& connections, int ranks)
        : connections_(connections), streams_(connections, ranks) {}

    const char* name() const override { return "stream"; }
    bool ready() override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    // A message of another length than is offered here is an Error (link) at the receiver.
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    bool test(Transfer& transfer) override;
    void progress() override;
    int poll_descriptor() override { return streams_.descriptor(); }
    void flush() override { streams_.flush(); }

  private:
    void check();

    Connections& connections_;
    Streams streams_;
    std::string broken_;
};

}  // namespace lapwing
