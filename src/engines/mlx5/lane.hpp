// The queues of one lane. Collectives use a lane in turn, one at a time. A queue pair keeps the order of
// messages between two ranks, so a lane has one for each peer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engines/mlx5/keep_alive.hpp"
#include "engines/mlx5/landing.hpp"
#include "engines/mlx5/queues.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/link.hpp"

namespace lapwing::mlx5 {

struct CardRun;

// A queue pair to a peer. Both ranks connect it when the first collective that needs it has the lane. They
// exchange messages on the channel of that collective: first addresses, then a confirmation. The first lane
// also connects the group's keep-alive.
class Peer {
  public:
    Peer(Device& device, const QueuePairOptions& options, const CompletionQueue& receives);

    // Returns true if both ends are connected. Throws Error (link).
    bool connect(Device& device, KeepAlive& keep_alive, Link& messages, int peer, std::uint32_t channel);

    SendQueue sends;
    ReceiveQueue receives;
    CompletionReader received;

  private:
    enum class State { made, addresses, confirming, connected };
    struct Addresses {
        Address messages;
        Address keep_alive;
    };

    State state_ = State::made;
    Addresses mine_;
    Addresses theirs_;
    std::byte confirmed_[2] = {};
    Link::Transfer out_, in_;
};

struct LaneOptions {
    WorkVariant variant{};
    std::uint32_t depth = 0;       // of queues to this rank itself
    std::uint32_t peer_depth = 0;  // of queues to peers
    int ranks = 1;
};

class Lane {
  public:
    Lane(Device& device, const LaneOptions& options);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // The first call makes the queue.
    Peer& peer(int rank);
    SendQueue& copy_queue();
    SendQueue& management_queue();
    Landing& landing(std::uint32_t number) { return landings_[number]; }

    // Names the other end of a queue pair, for messages.
    std::string who(std::uint32_t queue_pair) const;
    // Destroys the queue pairs: peers get no answer any more.
    void close();

    CompletionReader sends;  // of all peers
    CompletionReader copies;
    CompletionReader management;
    std::deque<CardRun*> runs;  // the first has the lane

  private:
    std::unique_ptr<SendQueue> to_itself(Role role, const CompletionReader& completions);

    Device& device_;
    const LaneOptions options_;
    std::map<std::uint32_t, Landing> landings_;
    std::map<int, std::unique_ptr<Peer>> peers_;
    std::unique_ptr<SendQueue> copy_queue_;
    std::unique_ptr<SendQueue> management_queue_;
    bool closed_ = false;
};

}  // namespace lapwing::mlx5
