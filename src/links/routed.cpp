#include "links/routed.hpp"

#include <utility>

namespace lapwing {

RoutedLink::RoutedLink(Link& intra_node, Link& inter_node, std::vector<bool> intra_node_peers)
    : intra_node_(intra_node), inter_node_(inter_node), intra_node_peers_(std::move(intra_node_peers)) {}

// The link overwrites the whole transfer, so `intra_node` is set afterwards.
void RoutedLink::send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    const bool intra_node = is_intra_node(peer);
    (intra_node ? intra_node_ : inter_node_).send(peer, data, bytes, channel, transfer);
    transfer.intra_node = intra_node;
}

void RoutedLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    const bool intra_node = is_intra_node(peer);
    (intra_node ? intra_node_ : inter_node_).recv(peer, data, bytes, channel, transfer);
    transfer.intra_node = intra_node;
}

void RoutedLink::progress() {
    intra_node_.progress();
    inter_node_.progress();
}

}  // namespace lapwing
