#include "links/routed.hpp"

#include <utility>

namespace lapwing {

RoutedLink::RoutedLink(Link& near, Link& far, std::vector<bool> near_peers)
    : near_(near), far_(far), near_peers_(std::move(near_peers)) {}

bool RoutedLink::ready() {
    if (ready_) return true;
    // Both are asked each time: asking is what lets a link that is being made go on.
    const bool near = near_.ready();
    const bool far = far_.ready();
    ready_ = near && far;
    return ready_;
}

// The link fills in the whole transfer, so which one it was is written afterwards.
void RoutedLink::send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    const bool near = is_near(peer);
    (near ? near_ : far_).send(peer, data, bytes, channel, transfer);
    transfer.near = near;
}

void RoutedLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    const bool near = is_near(peer);
    (near ? near_ : far_).recv(peer, data, bytes, channel, transfer);
    transfer.near = near;
}

void RoutedLink::progress() {
    near_.progress();
    far_.progress();
}

int RoutedLink::rest() {
    const int near = near_.rest();
    return near < 0 ? -1 : either_.of(near, far_.rest());
}

}  // namespace lapwing
