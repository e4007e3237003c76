// The link over connections: messages of several channels on one stream socket between two ranks. It is what
// the host engine stands on where there is no MPI.
//
// Every message travels behind a header that names its channel and its length. Short ones are sent at once,
// and kept at the receiver when nothing is posted for them yet. Longer ones are offered by their header
// alone, and follow when the receiver has granted them: so nothing is copied, and nobody's memory fills up
// with what comes too early.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "links/connections.hpp"
#include "links/link.hpp"

namespace lapwing {

// Not thread-safe. When one connection breaks, all transfers fail, and the connections are given up.
class StreamLink final : public Link {
  public:
    // Uses lane 0 of `connections`, alone; they outlive it. Throws Error (system).
    StreamLink(Connections& connections, int ranks);
    ~StreamLink() override;
    StreamLink(const StreamLink&) = delete;
    StreamLink& operator=(const StreamLink&) = delete;

    const char* name() const override { return "stream"; }
    bool ready() override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    // A message of another length than is offered here is an Error (link) at the receiver.
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    bool test(Transfer& transfer) override;
    void progress() override;
    int poll_descriptor() override { return poller_; }

    static constexpr std::uint64_t eager_limit = 16384;  // bytes of a message that is sent at once

  private:
    struct Message {
        int peer = 0;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        std::uint64_t bytes = 0;
        bool complete = false;
    };
    enum class Kind : std::uint32_t { eager, request_to_send, clear_to_send, data };
    struct Header {
        Kind kind = Kind::eager;
        std::uint32_t channel = 0;
        std::uint64_t bytes = 0;
    };
    struct Frame {
        Header header;
        Message* message = nullptr;  // whose bytes follow; null: none do
        std::uint64_t written = 0;   // of header and bytes
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
        std::vector<Message*> posted;   // receives without a message
        std::vector<Message*> granted;  // receives whose bytes are to follow
        std::vector<Message*> offered;  // sends that are not granted yet
        std::deque<std::shared_ptr<Early>> early;
        bool empty() const { return posted.empty() && granted.empty() && offered.empty() && early.empty(); }
    };
    struct Peer {
        int descriptor = -1;
        bool wanted = false;
        bool ended = false;  // it has closed the connection
        bool waits_to_write = false;
        int error = 0;                // why it has ended
        std::uint64_t under_way = 0;  // messages that are not complete
        std::deque<Frame> output;
        std::unordered_map<std::uint32_t, Channel> channels;
        // What is being read.
        Header header;
        std::uint64_t header_read = 0;
        std::byte* target = nullptr;
        std::uint64_t left = 0;
        Message* message = nullptr;
        std::shared_ptr<Early> early;
    };

    Peer& peer_of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    Message& take(int peer, std::uint64_t bytes, Transfer& transfer);
    void complete(Message& message);
    void want(int peer);
    bool connect(int peer);
    void forget_channel(Peer& peer, std::uint32_t channel);
    void meet(int peer, std::uint32_t channel, Message& message, const std::shared_ptr<Early>& early);
    void check_length(int peer, const Message& message, std::uint64_t bytes);
    void write(int peer);
    void read(int peer);
    void take_header(int peer);
    void end_of_bytes(int peer);
    void watch(int peer);
    void ended(int peer, int error);
    [[noreturn]] void fail(const std::string& why);

    Connections& connections_;
    std::vector<Peer> peers_;
    std::vector<int> unmade_;  // peers whose connections are awaited
    std::vector<std::unique_ptr<Message>> messages_;
    std::vector<Message*> idle_;
    std::string broken_;
    int poller_ = -1;
    std::shared_ptr<const int> wakeup_;  // an eventfd; rings when connections change
};

}  // namespace lapwing
