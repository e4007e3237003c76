// Messages over connections: those of several groups and channels on one stream socket between two ranks.
//
// A header precedes every message and names its group, its channel and its length. Short messages are sent at
// once; the receiver keeps them if no receive is posted yet. A longer message is offered by its header alone
// and follows when the receiver has granted it: its bytes are copied only into the socket, and messages that
// come too early do not fill the receiver's memory. A receive grants when it is posted, without waiting for
// the offer: lists post their receives at the top, so most grants have arrived when the bytes are ready, and
// no grant stands in the socket behind bytes that go the other way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/descriptor.hpp"
#include "base/object_pool.hpp"
#include "links/connections.hpp"
#include "links/fabric_base.hpp"

namespace lapwing {

class StreamFabric : public FabricBase {
  public:
    // For all ranks of `connections`, whose lane 0 it uses alone; they outlive it. Throws Error (system).
    StreamFabric(Connections& connections, int ranks);
    ~StreamFabric() override;

    const char* name() const override { return "stream"; }
    std::string description() const override { return name(); }
    bool rdma() const override { return false; }

    // What is readable stays so until a thread has read it.
    bool prepare_to_sleep() override { return true; }
    int descriptor() const override { return poller_.get(); }
    std::chrono::nanoseconds max_sleep() override { return std::chrono::nanoseconds(-1); }

    // Sends what has gathered, of long messages only a little: a start must not take the time to copy them.
    void send_gathered() override;

  protected:
    // Not used if `connections` exist from the beginning.
    std::vector<std::byte> card() const override { return {}; }
    void reach(const std::vector<Peer>&, int, const JobKey&) override {}

    // connect() follows. As FabricBase.
    explicit StreamFabric(const tcp::Options& internet) : FabricBase(&internet) {}
    // As the public constructor; called once, after join_ranks().
    void connect(Connections& connections);
    // Before `connections` end. In a child of fork they are the parent's, and stay as they are.
    void disconnect(bool in_child);
    // Whether the connection to the peer is wanted and not made yet.
    bool is_awaited(int peer) const { return peers_[static_cast<std::size_t>(peer)].awaited; }
    bool awaits_any() const { return !unmade_.empty(); }
    std::string describe(int peer) const override { return connections_->describe(peer); }
    bool asks_kernel(int) const override { return false; }

    void begin(FabricMessage& message) override;
    void abandon(void* part) override;
    bool step() override;
    bool flushed() override { return with_output_ == 0; }

    Connections* connections_ = nullptr;

  private:
    enum class Kind : std::uint32_t { eager, request_to_send, clear_to_send, refused, data };
    struct Header {
        Kind kind = Kind::eager;
        std::uint32_t channel = 0;
        std::uint64_t group = 0;
        std::uint64_t bytes = 0;
    };
    using ChannelKey = std::tuple<std::uint64_t, std::uint32_t>;  // group and channel
    // A send or a receive in flight.
    struct Part {
        FabricMessage* message = nullptr;  // null: abandoned
        int peer = 0;
        std::byte* data = nullptr;  // null: what is received is dropped
        std::uint64_t bytes = 0;
        bool granted = false;  // a receive, before its offer has arrived
    };
    struct Frame {
        Header header;
        Part* part = nullptr;       // whose bytes follow; null: no bytes follow
        std::uint64_t written = 0;  // of header and bytes
        std::uint64_t bytes() const { return part == nullptr ? 0 : part->bytes; }
    };
    // A message that has arrived before its receive was posted.
    struct Early {
        std::uint64_t bytes = 0;
        bool offered = false;
        bool complete = false;
        std::unique_ptr<std::byte[]> data;
        Part* receive = nullptr;  // posted since then; waits for the rest of the bytes
    };
    struct Channel {
        std::vector<Part*> posted;          // receives without a message
        std::vector<Part*> granted;         // receives whose bytes are to follow
        std::vector<Part*> offered;         // sends that are not granted yet
        std::vector<std::uint64_t> grants;  // lengths of the messages that were granted before they were sent
        std::deque<std::shared_ptr<Early>> early;
        bool empty() const {
            return posted.empty() && granted.empty() && offered.empty() && grants.empty() && early.empty();
        }
    };
    struct PeerState {
        int descriptor = -1;
        bool wanted = false;
        bool awaited = false;
        bool ended = false;  // the connection is closed
        int error = 0;       // why
        bool waits_to_write = false;
        bool gathers = false;  // is among gathering_
        bool lengths_differ =
            false;  // a message had another length than its receive: grants and offers may cross
        std::uint64_t in_flight = 0;  // parts
        std::deque<Frame> output;
        std::map<ChannelKey, Channel> channels;
        // The message that is being read.
        Header header;
        std::uint64_t header_read = 0;
        std::uint64_t left = 0;       // bytes
        std::byte* target = nullptr;  // null: the bytes are dropped
        Part* receive = nullptr;
        std::shared_ptr<Early> early;
    };

    PeerState& peer_of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    void complete(Part& part);
    bool has_length(Part& part, const ChannelKey& key, std::uint64_t bytes);
    void begin_send(Part& part, const ChannelKey& key);
    void begin_receive(Part& part, const ChannelKey& key);
    void want(int peer);
    bool connect_to(int peer);
    void connect_awaited();
    void put_out(PeerState& peer, Kind kind, const ChannelKey& key, std::uint64_t bytes,
                 Part* part = nullptr);
    void answer(PeerState& peer, const ChannelKey& key, Part& receive, std::uint64_t bytes);
    void forget_channel(PeerState& peer, const ChannelKey& key);
    void meet(PeerState& peer, const ChannelKey& key, Part& receive, const std::shared_ptr<Early>& early);
    void gather(int peer);
    void send_gathered_locked();
    void write(int peer, std::uint64_t max_long_bytes = max_at_once);
    bool read(int peer);
    void take_bytes(int peer, const std::byte* bytes, std::uint64_t count);
    void take_header(int peer);
    bool take_message(PeerState& from, const ChannelKey& key);
    bool take_answer(PeerState& from, const ChannelKey& key);
    bool take_data(PeerState& from, const ChannelKey& key);
    void end_of_message(int peer);
    void watch_output(int peer);
    void close(int peer, int error);

    static constexpr std::uint64_t max_at_once = 1U << 30;  // bytes of one system call
    // Bytes of long messages that one flush sends; the rest follows with the next progress.
    static constexpr std::uint64_t max_at_flush = 32U << 10;

    std::vector<PeerState> peers_;
    std::vector<int> gathering_;  // peers with output that waits for send_gathered()
    std::vector<int> unmade_;     // peers whose connections are awaited
    ObjectPool<Part> parts_;
    std::size_t with_output_ = 0;  // peers
    std::unique_ptr<std::byte[]> buffer_;
    Descriptor poller_;
    std::shared_ptr<const Descriptor> wakeup_;  // an eventfd; rings when connections change
};

}  // namespace lapwing
