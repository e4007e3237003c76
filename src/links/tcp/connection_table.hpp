// The connections of one group. The program requests and uses them; the event thread makes them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "links/tcp/address.hpp"

namespace lapwing::tcp {

class ConnectionTable {
  public:
    // Members and rank as in Endpoint::group.
    ConnectionTable(std::uint64_t group, std::vector<int> members, int rank, int lanes);

    std::uint64_t group() const { return group_; }
    int lanes() const { return lanes_; }
    int member(int peer) const { return members_[static_cast<std::size_t>(peer)]; }
    int own_member() const { return member(rank_); }
    // The rank in the group of a member of the job; -1 if it is not in the group.
    int rank_of(int member) const;

    // Thread-safe:

    // Requests a connection. Returns true if this side must connect and has not been asked before.
    bool want(int peer, int lane);
    // As Connections::descriptor.
    int descriptor(int peer, int lane);
    void on_change(std::function<void()> work);
    // Shuts all connections down without closing them. Connections that are being made have failed.
    void give_up(const std::string& why);
    // Shuts down and closes all connections.
    void close();
    bool closed() const { return closed_.load(std::memory_order_acquire); }
    // "10.77.0.3:4000"; empty without a connection.
    std::string address(int peer);

    // Only on the event thread, or before other threads know the group:

    // Why a connection from `member` is refused; null if it is not.
    const char* refuses(int member, int lane);
    // Adds a connection and owns its descriptor. Returns false if it is refused; the caller keeps it then.
    bool take_in(int member, int lane, int descriptor, const std::string& address);
    void fail(int peer, int lane, const std::string& why);
    // Fails all connections that other ranks have not made to this process yet.
    void fail_awaited(const std::string& why);
    // Runs the work of on_change().
    void tell();

  private:
    // A lane's state: one of these, or twice the descriptor, plus one until the program has seen it.
    enum : int { none = -1, making = -2, failed = -3 };
    struct Lane {
        std::atomic<int> state{none};
        std::string failure;
    };
    struct Peer {
        explicit Peer(int count) : lanes(static_cast<std::size_t>(count)) {}
        std::vector<Lane> lanes;
        std::string address;
    };
    // Blocks of peers are made when the first peer of one is needed: a lookup takes no lock.
    static constexpr int block_peers = 64;
    struct Block {
        std::atomic<Peer*> peers[block_peers] = {};
    };

    Peer* find(int peer) const;
    // With the lock held.
    Peer& make(int peer);
    template <typename Work>
    void each_peer(const Work& work);
    void check(int peer, int lane) const;
    // Throws Error (link).
    void fail_if_aborted();

    const std::uint64_t group_;
    const std::vector<int> members_;
    const int rank_;
    const int lanes_;
    std::vector<std::atomic<Block*>> blocks_;
    std::atomic<bool> closed_{false};
    std::string given_up_;  // why
    std::mutex mutex_;      // for all writes but a lane's change from new to seen
    std::vector<std::unique_ptr<Block>> own_blocks_;
    std::vector<std::pair<int, std::unique_ptr<Peer>>> own_peers_;  // by rank

    std::recursive_mutex telling_;  // held while the work of on_change() runs
    std::shared_ptr<std::function<void()>> change_;
};

}  // namespace lapwing::tcp
