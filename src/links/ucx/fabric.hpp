// UCX (Shamis et al. 2015, "UCX: An Open Source Framework for HPC Network APIs and Beyond"): InfiniBand,
// RoCE, TCP and more. A message is an active message of UCP; its header selects the receive. Tags would have
// too few bits for groups, channels and ranks, and none for the job's key.
#pragma once

#include <sys/types.h>
#include <ucp/api/ucp.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "links/fabric_base.hpp"
#include "links/ucx/library.hpp"

namespace lapwing::ucx {

class UcxFabric final : public FabricBase {
  public:
    // Throws Error (system).
    explicit UcxFabric(const FabricOptions& options);
    ~UcxFabric() override;

    const char* name() const override { return "ucx"; }
    std::string description() const override;
    bool rdma() const override { return rdma_; }

    bool prepare_to_sleep() override;
    int descriptor() const override { return descriptor_; }
    std::chrono::nanoseconds max_sleep() override;

  private:
    static constexpr unsigned message_id = 0;  // of Lapwing's active messages
    // Precedes each message.
    struct Header {
        std::uint64_t key;
        std::uint64_t group;
        std::uint64_t number;  // of all messages from the sender to this rank, from 1: transports may reorder
        std::uint32_t sender;  // rank in the job
        std::uint32_t channel;
    };
    // Begins a card; the key of the inboxes and UCX's address follow.
    struct Card {
        std::uint64_t memory = 0;
        std::uint64_t key_bytes = 0;
    };
    // A send, a receive or a write to inboxes that UCX, or `posted`, refers to.
    struct Request {
        UcxFabric* fabric = nullptr;
        FabricMessage* message = nullptr;  // null: abandoned, or a write that no message waits for
        Header header{};                   // of a send
    };
    // A message that has arrived before its receive was posted, or before its turn.
    struct Arrival {
        Header header{};
        void* data = nullptr;  // UCX's; must be released
        std::uint64_t bytes = 0;
        bool rendezvous = false;  // the sender keeps the data until they are fetched
        std::unique_ptr<std::byte[]> copy;
    };
    struct RankState {
        UcxFabric* fabric = nullptr;
        int rank = 0;
        std::vector<std::byte> address;
        ucp_ep_h endpoint = nullptr;
        std::uint64_t memory = 0;           // where its inboxes are
        std::vector<std::byte> packed_key;  // of them; empty: it has none
        ucp_rkey_h key = nullptr;
        std::uint64_t sent = 0;                  // messages
        std::uint64_t received = 0;              // messages, in their order
        std::vector<Request*> posted;            // receives without a message, in order
        std::deque<Arrival> early;               // in order
        std::map<std::uint64_t, Arrival> ahead;  // of their turn, by number
    };

    std::vector<std::byte> card() const override;
    void reach(const std::vector<Peer>& peers, int self, const JobKey& key) override;
    void begin(FabricMessage& message) override;
    void abandon(void* part) override;
    bool step() override { return ucp_.ucp_worker_progress(worker_) != 0; }
    bool flushed() override;
    bool put(int peer, const std::byte* bytes, std::uint64_t offset, std::size_t count,
             FabricMessage* message) override;

    RankState& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
    std::string read_transports();
    ucs_status_t map_memory(int ranks);
    bool connect(int peer);
    void lose_by(int peer, ucs_status_t status);
    void begin_send(FabricMessage& message, Request& request);
    void begin_receive(FabricMessage& message, Request& request);
    static void finished_send(void* library, ucs_status_t status, void* sent);
    void complete(Request& request, ucs_status_t status);
    ucs_status_t arrived(const Header& header, void* data, std::uint64_t bytes, std::uint64_t flags);
    bool deliver(Arrival& arrival);
    void fetch(Request& request, Arrival& arrival);
    void drop(Arrival& arrival);

    const Library& ucp_;
    const pid_t process_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    int descriptor_ = -1;
    std::vector<std::byte> address_;
    ucp_mem_h memory_ = nullptr;  // of inboxes; null: there are none
    std::byte* inboxes_memory_ = nullptr;
    std::vector<std::byte> packed_key_;
    std::string transports_;  // "tcp on eth0, lo"
    bool rdma_ = false;
    bool wakes_reliably_ = false;

    std::uint64_t key_ = 0;
    int self_ = 0;
    std::vector<RankState> ranks_;
    ObjectPool<Request> requests_;
    bool closing_ = false;
    void* flushing_ = nullptr;
    bool flushed_ = false;
};

}  // namespace lapwing::ucx
