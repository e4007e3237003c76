// UCX (Shamis et al. 2015, "UCX: An Open Source Framework for HPC Network APIs and Beyond"): InfiniBand,
// RoCE, TCP and more. A message is an active message of UCP, whose header says to which receive it belongs:
// tags would have too few bits for groups, channels and ranks, and none for the job's key.
#pragma once

#include <ucp/api/ucp.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/object_pool.hpp"
#include "links/fabric.hpp"
#include "links/fabric_lock.hpp"
#include "links/silence.hpp"
#include "links/ucx/library.hpp"

namespace lapwing::ucx {

// Of active messages: those of links; whether a rank is there, and that it is.
enum MessageId : unsigned { message_id, question_id, answer_id };

class UcxFabric final : public Fabric {
  public:
    // Throws Error (system).
    explicit UcxFabric(const FabricOptions& options);
    ~UcxFabric() override;
    UcxFabric(const UcxFabric&) = delete;
    UcxFabric& operator=(const UcxFabric&) = delete;

    const char* name() const override { return "ucx"; }
    std::string description() const override;
    bool rdma() const override { return rdma_; }
    std::vector<std::byte> address() const override { return address_; }
    void join(std::vector<Peer> peers, int self, const JobKey& key) override;
    std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members) override;

    bool progress() override;
    bool has_news() override;
    void forget_completed() override;
    bool prepare_to_sleep() override;
    int descriptor() const override { return descriptor_; }
    std::chrono::nanoseconds longest_sleep() override;
    bool flush() override;
    void give_up(const std::string& why) override;

  private:
    friend class UcxLink;
    // Before each message.
    struct Header {
        std::uint64_t key;
        std::uint64_t group;
        std::uint64_t number;  // of all from the sender to this rank, from 1: transports may reorder
        std::uint32_t sender;  // place in the job
        std::uint32_t channel;
    };
    // A send or a receive that was not complete at once.
    struct Message {
        UcxFabric* fabric = nullptr;
        Header header{};  // of a send, for as long as it is on its way
        std::byte* target = nullptr;
        std::uint64_t bytes = 0;
        int peer = 0;
        bool complete = false;
        bool too_long = false;
        ucs_status_t status = UCS_OK;
    };
    // What came before its receive, or before its turn.
    struct Arrival {
        Header header{};
        void* data = nullptr;  // UCX's, to be given back
        std::uint64_t bytes = 0;
        bool rendezvous = false;  // the data stays with the sender until it is asked for
        std::unique_ptr<std::byte[]> copy;
    };

    // A rank of the job.
    struct RankState {
        struct Posted {
            std::uint64_t group;
            std::uint32_t channel;
            Message* message;
        };

        UcxFabric* fabric = nullptr;
        int place = 0;
        Peer peer;
        ucp_ep_h endpoint = nullptr;
        std::string lost;            // why; empty: it is not
        std::uint64_t sent = 0;      // messages
        std::uint64_t received = 0;  // messages, in their order
        std::vector<Posted> posted;  // receives without a message, in order
        std::deque<Arrival> early;   // in order
        std::size_t waiting = 0;     // messages on their way to or from it
        Silence silence;
        std::map<std::uint64_t, Arrival> ahead;  // of their turn, by number
    };

    std::string read_transports();
    void send(int peer, std::uint64_t group, std::uint32_t channel, const std::byte* data,
              std::uint64_t bytes, Link::Transfer& transfer);
    void recv(int peer, std::uint64_t group, std::uint32_t channel, std::byte* data, std::uint64_t bytes,
              Link::Transfer& transfer);
    bool test(const std::vector<int>& members, Link::Transfer& transfer);
    void check_usable() const;
    [[noreturn]] void refuse(int peer) const;
    void connect(int peer);
    Message& take(int peer);
    void give_back(Message& message);
    void complete(Message& message, ucs_status_t status);
    ucs_status_t arrived(const Header& header, void* data, std::uint64_t bytes, std::uint64_t flags);
    // True when UCX's data is no longer needed.
    void set_handler(MessageId id, ucp_am_recv_callback_t handler);
    void look_after_peers();
    void tell(RankState& rank, MessageId id);
    ucs_status_t heard(const void* header, std::size_t bytes, bool asks);
    bool deliver(Arrival& arrival);
    bool fetch(Message& message, Arrival& arrival);
    void drop(Arrival& arrival);
    void lose(int peer, const std::string& why);
    FabricLock::Held hold() { return lock_.hold(); }

    const Library& ucp_;
    const pid_t process_;
    const FabricOptions options_;
    FabricLock lock_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    int descriptor_ = -1;
    std::vector<std::byte> address_;
    std::string transports_;  // "tcp on eth0, lo"
    bool rdma_ = false;
    bool wakes_reliably_ = false;

    std::uint64_t key_ = 0;
    int self_ = 0;
    std::vector<RankState> ranks_;
    ObjectPool<Message> messages_;
    std::size_t on_their_way_ = 0;
    std::uint64_t completed_ = 0;        // messages, so far
    std::uint64_t known_completed_ = 0;  // to the progress thread
    std::size_t lost_ = 0;               // peers
    std::string given_up_;
    std::chrono::steady_clock::time_point last_look_{};  // after the peers
    bool closing_ = false;
    void* flushing_ = nullptr;
    bool flushed_ = false;
};

}  // namespace lapwing::ucx
