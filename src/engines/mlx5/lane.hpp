// The queues of one lane: of the collectives that take it in turn, one at a time. Between two ranks a queue
// pair keeps the order of messages, so a lane has one for each peer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engines/mlx5/queues.hpp"
#include "links/link.hpp"
#include "task/work_queues.hpp"

namespace lapwing::mlx5 {

struct Run;

// A queue pair to a peer. Both ranks connect it when the first collective that needs it has the lane, by
// messages on that one's channel: first addresses, then that they are connected.
class Peer {
  public:
    Peer(Device& device, const QueuePairOptions& options, const CompletionQueue& receives);

    // True when both ends are connected. Throws Error (link).
    bool connect(Device& device, Link& messages, int peer, std::uint32_t channel);

    SendQueue sends;
    ReceiveQueue receives;
    CompletionReader received;

  private:
    enum class State { made, addresses, confirming, connected };

    State state_ = State::made;
    Address mine_;
    Address theirs_;
    std::byte confirmed_[2] = {};
    Link::Transfer out_, in_;
};

struct LaneOptions {
    WorkVariant variant{};
    std::uint32_t depth = 0;  // of each queue
    int ranks = 1;
};

class Lane {
  public:
    Lane(Device& device, const LaneOptions& options);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    Peer& peer(int rank);
    // Made when first asked for.
    SendQueue& copy_queue();
    SendQueue& management_queue();

    CompletionReader sends;  // of all peers
    CompletionReader copies;
    CompletionReader management;
    std::deque<Run*> runs;  // the first has the lane
    std::string error;      // why it cannot be used any more

  private:
    std::unique_ptr<SendQueue> to_itself(Role role, const CompletionReader& completions);

    Device& device_;
    const LaneOptions options_;
    std::map<int, std::unique_ptr<Peer>> peers_;
    std::unique_ptr<SendQueue> copy_queue_;
    std::unique_ptr<SendQueue> management_queue_;
};

}  // namespace lapwing::mlx5
