#include "links/peer_watch.hpp"

#include <time.h>

#include <utility>

namespace lapwing {
namespace {

// Exact to a few milliseconds. Called for each test of an incomplete message: the exact clock would cost 2 %
// of a short message inside a host.
std::chrono::nanoseconds coarse_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

PeerWatch::PeerWatch(const tcp::Options* internet)
    : presence_(internet == nullptr ? nullptr : std::make_unique<tcp::Presence>(*internet)) {}

void PeerWatch::join(std::size_t ranks, std::vector<tcp::Address> addresses) {
    peers_ = std::vector<Peer>(ranks);
    if (presence_ != nullptr) presence_->join(std::move(addresses));
}

// Asks only about peers without a completed message since the last call: most collectives end sooner.
std::string PeerWatch::look(const std::function<bool(int peer)>& asks_kernel, int& lost) {
    if (presence_ == nullptr || (waiting_ == 0 && !asking_)) return "";
    const auto now = coarse_now();
    if (now - last_look_ < interval) return "";
    last_look_ = now;
    std::vector<int> slow;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        const bool waits = peer.waiting > 0 && asks_kernel(static_cast<int>(i));
        const bool completed = std::exchange(peer.completed, false);
        if (std::exchange(peer.was_waiting, waits) && waits && !completed)
            slow.push_back(static_cast<int>(i));
    }
    asking_ = !slow.empty();
    // Also without any such peer: this closes the connections of the last call.
    return presence_->look(slow, lost);
}

}  // namespace lapwing
