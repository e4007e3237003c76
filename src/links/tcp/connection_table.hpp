// The connections of one group, as all who deal with them see them: the program, which asks and uses them,
// and the event thread, which makes them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::tcp {

class ConnectionTable {
  public:
    // Members and rank as in Endpoint::group.
    ConnectionTable(std::uint64_t group, std::vector<int> members, int rank, int lanes);
    ConnectionTable(const ConnectionTable&) = delete;
    ConnectionTable& operator=(const ConnectionTable&) = delete;

    std::uint64_t group() const { return group_; }
    int lanes() const { return lanes_; }
    int member(int peer) const { return members_[static_cast<std::size_t>(peer)]; }
    int own_member() const { return member(rank_); }
    // The rank of a member of the job; -1: none of this group.
    int rank_of(int member) const;

    // By any thread.

    // Asks for a connection. True when it is this side that must connect, and has not been asked before.
    bool want(int peer, int lane);
    // As Connections::descriptor.
    int descriptor(int peer, int lane);
    void on_change(std::function<void()> work);
    // Shuts all down but keeps them; no connection is taken in any more, and those that do not stand have
    // failed.
    void give_up(const std::string& why);
    // Shuts down and closes all; no connection is taken in any more.
    void close();
    bool closed() const { return closed_.load(std::memory_order_acquire); }
    // "10.77.0.3:4000" where a connection stands; empty: none yet.
    std::string address(int peer);

    // On the event thread, or before the group is shown to anyone.

    // Whether a connection from `member` has a place. Null: it has; or why not.
    const char* refuses(int member, int lane);
    // Takes in a connection that has been made; false: it has no place (any more), and stays the caller's.
    bool take_in(int member, int lane, int descriptor, const std::string& address);
    void fail(int peer, int lane, const std::string& why);
    // All connections that others should make to this process, and have not, cannot be made.
    void fail_awaited(const std::string& why);
    // Runs what on_change() was given.
    void tell();
    // work(peer, descriptor, suspicion) for each connection that stands; `suspicion` is kept with it.
    void each(const std::function<void(int, int, int&)>& work);

  private:
    // A lane's state: one of these, or a descriptor twice, plus one until the program has seen it.
    enum : int { none = -1, making = -2, failed = -3 };
    struct Lane {
        std::atomic<int> state{none};
        int suspicion = 0;
        std::string failure;
    };
    struct Peer {
        explicit Peer(int count) : lanes(static_cast<std::size_t>(count)) {}
        std::vector<Lane> lanes;
        std::string address;
    };
    // Peers in blocks that are made when the first of them is needed, so that looking one up takes no lock.
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
    void fail_if_given_up();

    const std::uint64_t group_;
    const std::vector<int> members_;
    const int rank_;
    const int lanes_;
    std::vector<std::atomic<Block*>> blocks_;
    std::atomic<bool> closed_{false};
    std::string given_up_;  // why
    std::mutex mutex_;      // of all that is written but a lane's change from new to seen
    std::vector<std::unique_ptr<Block>> own_blocks_;
    std::vector<std::pair<int, std::unique_ptr<Peer>>> own_peers_;  // by rank

    std::recursive_mutex telling_;  // held while what on_change() was given runs
    std::shared_ptr<std::function<void()>> change_;
};

}  // namespace lapwing::tcp
