// A link made of two: one for intra-node peers, one for all others.
#pragma once

#include <vector>

#include "links/link.hpp"

namespace lapwing {

class RoutedLink final : public Link {
  public:
    // `intra_node_peers`: by rank, true for the peers of `intra_node`; both ranks of a pair must agree. Both
    // links must outlive this one; neither may be a RoutedLink.
    RoutedLink(Link& intra_node, Link& inter_node, std::vector<bool> intra_node_peers);

    bool any_thread() const override { return intra_node_.any_thread() && inter_node_.any_thread(); }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override;
    bool sends_slowly(int peer, std::uint64_t bytes) const override {
        return (is_intra_node(peer) ? intra_node_ : inter_node_).sends_slowly(peer, bytes);
    }
    // Also advances the other link: a peer may wait for it.
    bool test(Transfer& transfer) override {
        if (!transfer.active) return true;
        Link& other = transfer.intra_node ? inter_node_ : intra_node_;
        if ((transfer.intra_node ? intra_node_ : inter_node_).test(transfer)) return true;
        other.progress();
        return false;
    }
    void progress() override;
    void flush() override {
        intra_node_.flush();
        inter_node_.flush();
    }

  private:
    bool is_intra_node(int peer) const { return intra_node_peers_[static_cast<std::size_t>(peer)]; }

    Link& intra_node_;
    Link& inter_node_;
    const std::vector<bool> intra_node_peers_;
};

}  // namespace lapwing
