// The link over connections of the group's own: the host engine of groups without an MPI uses it.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "links/fabric_base.hpp"
#include "links/streams/stream_fabric.hpp"

namespace lapwing {

// A fabric for one group. After the first failure all transfers fail, and the connections are shut down.
class GroupStreams final : public StreamFabric {
  public:
    using StreamFabric::StreamFabric;

  private:
    void on_failure(const std::string& why) override {
        fail_all(why);
        connections_->give_up(why);
    }
};

// Not thread-safe but for fail(). A message of another length than its receive is an Error (truncated, link)
// at the receiver.
class StreamLink final : private std::unique_ptr<GroupStreams>, public FabricLink {
  public:
    // As StreamFabric.
    StreamLink(Connections& connections, int ranks)
        : std::unique_ptr<GroupStreams>(std::make_unique<GroupStreams>(connections, ranks)),
          FabricLink(**this, 0, all_of(ranks)) {}

    bool any_thread() const override { return false; }
    bool sends_slowly(int, std::uint64_t) const override { return false; }
    int poll_descriptor() override { return get()->descriptor(); }
    // All messages fail with `why`, now and later. By any thread.
    void fail(const std::string& why) { get()->give_up(why); }

  private:
    static std::vector<int> all_of(int ranks) {
        std::vector<int> members(static_cast<std::size_t>(ranks));
        std::iota(members.begin(), members.end(), 0);
        return members;
    }
};

}  // namespace lapwing
