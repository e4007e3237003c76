#include "links/streams/stream_link.hpp"

#include <numeric>
#include <vector>

namespace lapwing {
namespace {

std::vector<int> all_of(int ranks) {
    std::vector<int> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    return members;
}

}  // namespace

StreamLink::StreamLink(Connections& connections, int ranks)
    : std::unique_ptr<GroupStreams>(std::make_unique<GroupStreams>(connections, ranks)),
      FabricLink(**this, 0, all_of(ranks)) {}

}  // namespace lapwing
