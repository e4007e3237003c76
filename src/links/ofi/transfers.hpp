// The transfers of all groups on one endpoint: what is posted, and what waits for room at the provider.
#pragma once

#include <rdma/fabric.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/object_pool.hpp"
#include "links/fabric_base.hpp"
#include "links/ofi/endpoint.hpp"
#include "links/ofi/registration.hpp"
#include "links/ofi/tags.hpp"

namespace lapwing::ofi {

class OfiFabric final : public FabricBase {
  public:
    OfiFabric(std::unique_ptr<Endpoint> endpoint, const FabricOptions& options);
    ~OfiFabric() override;

    const char* name() const override { return "ofi"; }
    std::string description() const override;
    bool rdma() const override { return endpoint_->traits().rdma; }

    bool prepare_to_sleep() override;
    int descriptor() const override { return endpoint_->descriptor(); }
    std::chrono::nanoseconds max_sleep() override;

  private:
    // The part of a message that the provider takes at once; or a write to inboxes, without a message.
    // libfabric has its address until it completes, which may be after the message was abandoned.
    struct Piece {
        fi_context2 context{};             // first: libfabric returns its address
        FabricMessage* message = nullptr;  // null: abandoned, or a write
        int peer = 0;
        bool receive = false;
        std::byte* data = nullptr;
        std::size_t bytes = 0;
        Registration::Span span;
    };
    struct alignas(64) InboxLine {
        std::byte bytes[64];
    };
    enum class Posted { yes, full, failed };
    struct PeerState {
        fi_addr_t address = FI_ADDR_UNSPEC;
        std::uint64_t memory = 0;  // of its inboxes
        std::uint64_t memory_key = 0;
        std::deque<Piece*> waiting;  // sends, in order
        bool listed = false;         // in waiting_peers_
        bool has_silent_sends = false;
    };

    std::vector<std::byte> card() const override;
    void reach(const std::vector<Peer>& peers, int self, const JobKey& key) override;
    void begin(FabricMessage& message) override;
    void abandon(void* part) override;
    bool step() override;
    bool flushed() override;
    bool put(int peer, const std::byte* bytes, std::uint64_t offset, std::size_t count,
             FabricMessage* message) override;
    void open_group(FabricGroup& group) override { group.tag = tags_.take(group.number); }
    void close_group(FabricGroup& group) override { tags_.release(group.tag); }

    PeerState& peer_of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    void give(Piece& piece);
    Posted post(Piece& piece);
    bool retry();
    bool retry(std::deque<Piece*>& waiting);
    void complete(Piece& piece, std::size_t bytes);
    void settle(Piece& piece);
    void sent_silently(int peer);
    void free(Piece& piece);
    bool take_error();
    // Whether something waits for room at the provider, which the provider does not announce.
    bool has_backlog() const { return !waiting_peers_.empty() || !waiting_receives_.empty(); }

    const pid_t process_;
    std::unique_ptr<Endpoint> endpoint_;
    const std::size_t max_bytes_;  // of a piece
    const std::size_t inject_;     // bytes of a message that the provider copies at once
    // Injected messages complete without an event: each event costs a system call or two, and wakes sleepers.
    const bool injects_silently_;
    // Receives the excess of messages that are too long, where the provider has excess_disconnects. Never
    // read.
    std::vector<std::byte> overflow_;
    const std::string provider_;
    std::unique_ptr<Registration> registration_;
    // Of inboxes; empty: there are none.
    std::vector<InboxLine> inboxes_memory_;
    Open<fid_mr> inboxes_region_;
    Tags tags_;
    std::vector<PeerState> peers_;
    ObjectPool<Piece> pieces_;
    std::vector<int> waiting_peers_;
    std::deque<Piece*> waiting_receives_;
    std::chrono::steady_clock::time_point next_retry_;
    std::size_t sends_ = 0;  // pieces that are posted

    // A last message to each peer that was sent something silently: when it has left, so has all before it.
    FabricGroup farewells_;
    std::vector<int> silent_peers_;  // those with silent sends
};

}  // namespace lapwing::ofi
