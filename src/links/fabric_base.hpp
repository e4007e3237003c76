// What all fabrics share: links and groups, messages, completions that no caller has seen, the lock, lost
// peers, and the watch for peers whose process has ended. A fabric adds how its library moves bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/object_pool.hpp"
#include "links/fabric.hpp"
#include "links/fabric_lock.hpp"
#include "links/fabric_message.hpp"
#include "links/inboxes.hpp"
#include "links/peer_watch.hpp"

namespace lapwing {

class FabricBase : public Fabric, protected InboxNetwork {
  public:
    // What other ranks need to ask this rank's kernel (peer_watch.hpp), and then card().
    std::vector<std::byte> address() const final;
    void join(std::vector<Peer> peers, int self, const JobKey& key) final;
    std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members) override;
    bool progress() override;
    bool has_events() override;
    void forget_completed() override;
    bool flush() override;
    void give_up(const std::string& why) override;

  protected:
    // As PeerWatch.
    explicit FabricBase(const tcp::Options* internet = nullptr) : watch_(internet) {}

    // For each fabric.

    // What other ranks need to reach this process by the library.
    virtual std::vector<std::byte> card() const = 0;
    // Sends what begin() has gathered. Called without the lock.
    virtual void send_gathered() {}

    // All others are called with the lock held.

    // Part of join(): the address of each peer is its card(). Throws Error (link).
    virtual void reach(const std::vector<Peer>& peers, int self, const JobKey& key) = 0;
    // Hands the message to the library: sets `parts` and `left`, and may complete it or lose its peer.
    virtual void begin(FabricMessage& message) = 0;
    // The part's message has failed, or its link ends: the library must not touch the caller's bytes any
    // more, as far as it can be kept from them.
    virtual void abandon(void* part) = 0;
    // Advances what is on its way. Returns true if something has moved.
    virtual bool step() = 0;
    // Whether all that was sent has left this process.
    virtual bool flushed() = 0;
    // A fabric without inboxes writes nothing.
    bool put(int, const std::byte*, std::uint64_t, std::size_t, FabricMessage*) override { return false; }
    // A group begins, and ends. The first may throw Error.
    virtual void open_group(FabricGroup&) {}
    virtual void close_group(FabricGroup&) {}
    virtual bool asks_kernel([[maybe_unused]] int peer) const { return true; }
    // A peer is lost, or a message has another length than its receive.
    virtual void on_failure([[maybe_unused]] const std::string& why) {}
    // "rank 3 (node2)"
    virtual std::string describe(int peer) const { return names_[static_cast<std::size_t>(peer)]; }

    // Called once, before the first link. `addresses` as of PeerWatch::join().
    void join_ranks(const std::vector<Peer>& peers, std::vector<tcp::Address> addresses = {});
    [[noreturn]] static void refuse_address(std::size_t rank);
    // After join_ranks(): short messages go by inboxes in this memory.
    void open_inboxes(std::byte* memory, int self, const JobKey& key) {
        InboxNetwork& network = *this;
        inboxes_ = std::make_unique<Inboxes>(network, memory, self, static_cast<int>(ranks()), key);
    }
    // Whether a message may come that wakes nobody, unless the network's descriptor tells of writes.
    bool polls() const { return inboxes_ != nullptr && inboxes_->has_receives(); }
    bool poll_inboxes() { return inboxes_ != nullptr && inboxes_->poll(); }
    const char* way_of_short_messages() const { return inboxes_ == nullptr ? "" : ", short messages by put"; }
    void add(FabricGroup& group);
    // Abandons the group's messages.
    void remove(FabricGroup& group);

    FabricMessage& start(FabricGroup& group, int peer, bool receive, const std::byte* data,
                         std::uint64_t bytes, std::uint32_t channel);
    // The part is not used any more.
    void complete_part(FabricMessage& message, void* part);
    // The caller has seen the message's end.
    void finish(FabricMessage& message);
    void fail(FabricMessage& message, ErrorCode code, const std::string& why);
    // Whether `bytes`, which the peer has sent, are as many as the receive expects; fails it if not.
    bool expects(FabricMessage& message, std::uint64_t bytes);
    void fail_too_long(FabricMessage& message);
    // Fails all messages of the groups that have the peer.
    void lose(int peer, const std::string& why);
    void lose_out_of_reach(int peer, const std::string& why);
    void fail_all(const std::string& why);

    FabricLock::Held hold() { return lock_.hold(); }
    const PeerWatch& watch() const { return watch_; }
    std::size_t ranks() const { return names_.size(); }
    bool is_lost(int peer) const final { return !lost_[static_cast<std::size_t>(peer)].empty(); }

  private:
    friend class FabricLink;

    bool goes_by_inbox(const FabricMessage& message) const {
        return inboxes_ != nullptr && !message.group->internal && message.bytes <= Inboxes::max_bytes;
    }
    bool advance() {
        const bool moved = step();
        return poll_inboxes() || moved;
    }
    void complete_receive(FabricMessage& message, const std::byte* data, std::uint64_t bytes) final;
    bool test(Link::Transfer& transfer);
    void watch_peers();
    void end(FabricMessage& message);
    void abandon_parts(FabricMessage& message);
    void fail_length(FabricMessage& message, ErrorCode code, const std::string& sent);
    void break_group(FabricGroup& group, const std::string& why);

    FabricLock lock_;
    PeerWatch watch_;
    std::vector<std::string> names_;  // by rank
    std::vector<std::string> lost_;   // why, by rank
    bool some_lost_ = false;
    std::string given_up_;  // why
    std::vector<FabricGroup*> groups_;
    ObjectPool<FabricMessage> messages_;
    std::unique_ptr<Inboxes> inboxes_;  // null: all messages go to the library
    // Completions are unseen until a caller has tested them, or forget_completed() begins a new epoch.
    std::uint64_t epoch_ = 1;
    std::size_t unseen_ = 0;
};

// The link of one group.
class FabricLink : public Link {
  public:
    FabricLink(FabricBase& fabric, std::uint64_t group, std::vector<int> members);
    ~FabricLink() override;
    FabricLink& operator=(FabricLink&&) = delete;

    bool any_thread() const override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        start(peer, false, data, bytes, channel, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        start(peer, true, data, bytes, channel, transfer);
    }
    bool sends_slowly(int peer, std::uint64_t bytes) const override;
    bool test(Transfer& transfer) override { return fabric_.test(transfer); }
    void progress() override;
    void flush() override { fabric_.send_gathered(); }

  private:
    void start(int peer, bool receive, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
               Transfer& transfer);
    void check() const;

    FabricBase& fabric_;
    FabricGroup group_;
};

}  // namespace lapwing
