// Messages over connections: those of several groups and channels on one stream socket between two ranks. It
// is what the host engine stands on over TCP.
//
// Every message travels behind a header that names its group, its channel and its length. Short ones are sent
// at once, and kept at the receiver when nothing is posted for them yet. Longer ones are offered by their
// header alone, and follow when the receiver has granted them: so nothing is copied, and nobody's memory
// fills up with what comes too early. A receive grants when it is posted, without waiting for the offer:
// lists post their receives at the top, so most grants are there when the bytes are, and none stands in the
// socket behind bytes that go the other way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/object_pool.hpp"
#include "base/short_message.hpp"
#include "links/connections.hpp"

namespace lapwing {

// Not thread-safe. Nothing waits. Nothing but the constructor throws: messages fail, and peers are lost.
class Streams {
  public:
    struct Message {
        int peer = 0;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        std::uint64_t bytes = 0;
        bool complete = false;
        bool granted = false;  // a receive, before its offer has come
        ErrorCode code = ErrorCode::link;
        std::string failure;  // of one that is complete: why it is not right
    };

    // Uses lane 0 of `connections`, alone; they outlive it. Throws Error (system).
    Streams(Connections& connections, int ranks);
    ~Streams();
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    // To and from a peer that is not lost. What comes back is kept, with the bytes, until finish(), once it
    // is complete. Offers, grants and long messages leave with flush() or progress().
    Message& send(int peer, std::uint64_t group, std::uint32_t channel, const std::byte* data,
                  std::uint64_t bytes);
    // A message of another length than is offered here fails, at the receiver only.
    Message& recv(int peer, std::uint64_t group, std::uint32_t channel, std::byte* data, std::uint64_t bytes);
    void finish(Message& message) { messages_.release(message); }

    // Sends what has gathered, of long messages no more than a little: a start shall not take the time to
    // copy them.
    void flush();
    // Takes in what has come, and sends what there was no room for. True when something has moved.
    bool progress();
    // Why no message to or from a peer can complete any more; empty: they may.
    const std::string& lost(int peer) const { return peers_[static_cast<std::size_t>(peer)].lost; }
    // It is lost, for a reason that is not known here.
    void lose(int peer, const std::string& why);
    // Peers without a connection so far, although there are messages for them.
    const std::vector<int>& awaited() const { return unmade_; }
    std::size_t peers_lost() const { return peers_lost_; }
    // What has gone wrong first: a peer was lost, or a message has failed; empty: nothing.
    const std::string& trouble() const { return trouble_; }

    // Messages that have completed or failed, and peers that were lost, so far.
    std::uint64_t completed() const { return completed_; }
    // Whether something waits for room in a socket.
    bool has_output() const { return with_output_ > 0; }
    // For poll(): readable when progress() may go on.
    int descriptor() const { return poller_; }

  private:
    enum class Kind : std::uint32_t { eager, request_to_send, clear_to_send, refused, data };
    struct Header {
        Kind kind = Kind::eager;
        std::uint32_t channel = 0;
        std::uint64_t group = 0;
        std::uint64_t bytes = 0;
    };
    using Place = std::tuple<std::uint64_t, std::uint32_t>;  // a channel of a group
    struct Frame {
        Header header;
        Message* message = nullptr;  // whose bytes follow; null: none do
        std::uint64_t written = 0;   // of header and bytes
        std::uint64_t bytes() const { return message == nullptr ? 0 : message->bytes; }
    };
    // What has come before a receive was posted for it.
    struct Early {
        std::uint64_t bytes = 0;
        bool offered = false;
        bool complete = false;
        std::unique_ptr<std::byte[]> data;
        Message* message = nullptr;  // posted since then, and waits for the rest of the bytes
    };
    struct Channel {
        std::vector<Message*> posted;       // receives without a message
        std::vector<Message*> granted;      // receives whose bytes are to follow
        std::vector<Message*> offered;      // sends that are not granted yet
        std::vector<std::uint64_t> grants;  // the bytes of those that have come before a send
        std::deque<std::shared_ptr<Early>> early;
        bool empty() const {
            return posted.empty() && granted.empty() && offered.empty() && grants.empty() && early.empty();
        }
    };
    struct Peer {
        int descriptor = -1;
        bool wanted = false;
        bool ended = false;  // it has closed the connection
        bool waits_to_write = false;
        bool gathers = false;  // it is among gathering_
        bool differs = false;  // a length has: grants and offers may have crossed
        int error = 0;         // why it has ended
        std::string lost;
        std::uint64_t under_way = 0;  // messages that are not complete
        std::deque<Frame> output;
        std::map<Place, Channel> channels;
        // What is being read.
        Header header;
        std::uint64_t header_read = 0;
        std::byte* target = nullptr;  // null: what comes is for nobody
        std::uint64_t left = 0;
        Message* message = nullptr;
        std::shared_ptr<Early> early;
    };

    Peer& peer_of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    Message& take(int peer, std::uint64_t bytes);
    void complete(Message& message);
    bool has_length(Message& message, std::uint64_t bytes);
    void want(int peer);
    bool connect(int peer);
    void connect_awaited();
    void put_out(Peer& peer, Kind kind, const Place& place, std::uint64_t bytes, Message* message = nullptr);
    void withdraw(Peer& peer, const Place& place, const Message& message);
    void answer(Peer& peer, const Place& place, Message& message, std::uint64_t bytes);
    void forget_channel(Peer& peer, const Place& place);
    void meet(Peer& peer, const Place& place, Message& message, const std::shared_ptr<Early>& early);
    void gather(int peer);
    void write(int peer, std::uint64_t most = max_at_once);
    bool read(int peer);
    void take_in(int peer, const std::byte* bytes, std::uint64_t count);
    void take_header(int peer);
    void end_of_bytes(int peer);
    void watch(int peer);
    void ended(int peer, int error);

    static constexpr std::uint64_t max_at_once = 1U << 30;  // bytes of one system call
    // So much of long messages goes with a flush; the rest with the next progress.
    static constexpr std::uint64_t max_at_flush = 32U << 10;

    Connections& connections_;
    std::vector<Peer> peers_;
    std::vector<int> gathering_;  // peers for whom something waits for flush()
    std::vector<int> unmade_;     // peers whose connections are awaited
    ObjectPool<Message> messages_;
    std::string trouble_;
    std::uint64_t completed_ = 0;
    std::size_t peers_lost_ = 0;
    std::size_t with_output_ = 0;  // peers
    std::unique_ptr<std::byte[]> buffer_;
    int poller_ = -1;
    std::shared_ptr<const int> wakeup_;  // an eventfd; rings when connections change
};

}  // namespace lapwing
