// The transfers of all groups on one endpoint: what is posted, what the provider has no room for yet, what
// has failed.
#pragma once

#include <rdma/fabric.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/object_pool.hpp"
#include "links/ofi/business_card.hpp"
#include "links/ofi/endpoint.hpp"
#include "links/ofi/registration.hpp"

namespace lapwing::ofi {

struct Message;

// In place of a peer: what is received from it may come from any.
constexpr int any_peer = -1;

// The peers that one link reaches, and its messages.
struct Group {
    std::vector<int> members;  // their places in the job
    std::uint64_t tag = 0;     // of all its messages, without the channel
    std::string broken;        // why all its transfers fail
    bool standing = false;     // nobody waits for its messages
    std::vector<Message*> messages;
};

// A part of a message that the provider takes at once. libfabric has its address until it completes, which
// may be after the message was given up.
struct Piece {
    fi_context2 context{};       // first: libfabric gives its address back
    Message* message = nullptr;  // null: nobody waits for it any more
    int peer = 0;                // its place in the job
    bool receive = false;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Registration::Span span;
};

struct Message {
    Group* group = nullptr;
    std::size_t place = 0;  // in the group's messages
    int peer = 0;           // its place in the job
    bool receive = false;
    std::uint64_t tag = 0;
    std::size_t left = 0;    // pieces that are not complete
    bool seen = false;       // by an earlier look at what takes long
    std::uint64_t news = 0;  // completed or failed after so many calls of forget_completed()
    std::vector<Piece*> pieces;
    ErrorCode code = ErrorCode::link;
    std::string failure;
};

// Not thread-safe. Nothing here waits, and only what says so throws.
class Transfers {
  public:
    explicit Transfers(Endpoint& endpoint);

    // `names` of the ranks, for messages; `farewell`: a tag of no group. Throws Error (link).
    void join(const std::vector<BusinessCard>& cards, std::vector<std::string> names, std::uint64_t farewell);
    void add(Group& group);
    void remove(Group& group);  // its messages are given up

    // `data` and the message live until remove() or finish().
    Message& start(Group& group, int peer, bool receive, const std::byte* data, std::uint64_t bytes,
                   std::uint64_t tag);
    void finish(Message& message);

    // Takes in some of what is complete, and posts what there was no room for. True when something has moved.
    bool step();
    // A last message to each peer that was sent something whose completion is not told: when it has left, so
    // has all before it.
    void say_farewell();
    void fail_all(const std::string& why);
    void lose(int peer, const std::string& why);

    // The peers of messages that are not complete; and of those that were not complete the last time either.
    std::vector<int> waited_for() const;
    std::vector<int> slow_peers();
    std::size_t peers() const { return peers_.size(); }
    // How much has come from that one, in pieces.
    std::uint64_t received(int peer) const { return peers_[static_cast<std::size_t>(peer)].received; }

    bool has_news() const { return news_ > 0; }
    void forget_completed();

    bool idle() const { return unfinished_ == 0 && sends_ == 0; }
    bool broken() const { return lost_ || !given_up_.empty(); }
    bool has_unfinished() const { return unfinished_ > 0; }
    bool has_sends() const { return sends_ > 0; }  // that have not left, although they may be complete
    // Whether something waits for room at the provider, which nobody announces.
    bool has_backlog() const { return !waiting_peers_.empty() || !waiting_receives_.empty(); }

  private:
    enum class Posted { yes, full, failed };
    struct Peer {
        fi_addr_t address = FI_ADDR_UNSPEC;
        std::deque<Piece*> waiting;  // sends, in order
        bool listed = false;         // in waiting_peers_
        bool has_silent_sends = false;
        std::uint64_t received = 0;  // pieces
        std::string lost;            // why
    };

    Peer& peer_of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    template <typename Which>
    std::vector<int> peers_of(Which which) const;
    void give(Piece& piece);
    Posted post(Piece& piece);
    bool retry();
    bool retry(std::deque<Piece*>& waiting);
    void complete(Piece& piece, std::size_t bytes);
    void settle(Piece& piece);
    void free(Piece& piece);
    bool take_error();
    void fail(Message& message, ErrorCode code, const std::string& why);
    void give_up(Message& message);
    void end(Message& message);
    void break_group(Group& group, const std::string& why);

    Endpoint& endpoint_;
    const std::size_t max_bytes_;  // of a piece
    const std::size_t inject_;     // bytes that the provider copies at once
    // Such messages complete without a word: each word costs a system call or two, and rings the descriptor.
    const bool injects_silently_;
    Group farewells_;
    std::vector<int> silent_peers_;  // those with silent sends
    // Where what is more than a receive expects goes, with excess_disconnects. Nobody reads it.
    std::vector<std::byte> overflow_;
    const std::string provider_;
    Registration registration_;
    std::vector<std::string> names_;
    std::vector<Peer> peers_;
    std::vector<Group*> groups_;
    bool lost_ = false;  // a peer
    std::string given_up_;
    ObjectPool<Message> messages_;
    ObjectPool<Piece> pieces_;
    std::vector<int> waiting_peers_;
    std::deque<Piece*> waiting_receives_;
    std::chrono::steady_clock::time_point next_retry_;
    std::size_t unfinished_ = 0;  // messages that somebody waits for
    std::size_t sends_ = 0;       // pieces that are posted
    std::uint64_t forgotten_ = 1;
    std::size_t news_ = 0;
};

}  // namespace lapwing::ofi
