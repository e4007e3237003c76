#include "links/peer_watch.hpp"

#include <fmt/format.h>
#include <time.h>

#include <utility>

namespace lapwing {
namespace {

// Counted in looks and not in seconds: a process that was suspended has heard no peer meanwhile.
constexpr int max_silent_looks = 8;  // in the time of the patience
constexpr int looks_until_asked = 3;

constexpr auto time_between_kernels = std::chrono::milliseconds(200);

// Exact to a few milliseconds. Called for each test of an incomplete message: the exact clock would cost 2 %
// of a short message inside a host.
std::chrono::nanoseconds coarse_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

PeerWatch::PeerWatch(std::chrono::seconds patience, const tcp::Options* internet)
    : patience_(patience),
      presence_(internet == nullptr ? nullptr : std::make_unique<tcp::Presence>(*internet)) {}

void PeerWatch::join(std::size_t ranks, std::vector<tcp::Address> addresses) {
    peers_ = std::vector<Peer>(ranks);
    if (presence_ != nullptr) presence_->join(std::move(addresses));
}

std::chrono::nanoseconds PeerWatch::interval() const {
    return patience_.count() > 0 ? std::chrono::nanoseconds(patience_) / max_silent_looks
                                 : std::chrono::nanoseconds(-1);
}

std::vector<PeerWatch::Finding> PeerWatch::look(const std::function<bool(int peer)>& asks_kernel) {
    std::vector<Finding> findings;
    if (waiting_ == 0 && !asking_) return findings;
    if (patience_.count() == 0 && presence_ == nullptr) return findings;
    const auto now = coarse_now();
    if (patience_.count() > 0 && now - last_look_ >= interval()) {
        last_look_ = now;
        look_for_silence(findings);
    }
    if (presence_ != nullptr && now - last_asked_ >= time_between_kernels) {
        last_asked_ = now;
        ask_kernels(asks_kernel, findings);
    }
    return findings;
}

void PeerWatch::look_for_silence(std::vector<Finding>& findings) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        if (std::exchange(peer.heard, false) || peer.waiting == 0) {
            peer.silent_looks = 0;
            continue;
        }
        ++peer.silent_looks;
        if (peer.silent_looks > max_silent_looks)
            findings.push_back(
                {static_cast<int>(i), fmt::format("nothing was heard from it for {} s", patience_.count())});
        else if (peer.silent_looks >= looks_until_asked)
            findings.push_back({static_cast<int>(i), ""});
    }
}

// Only peers without a completed message since the last time: most collectives end sooner.
void PeerWatch::ask_kernels(const std::function<bool(int peer)>& asks_kernel,
                            std::vector<Finding>& findings) {
    std::vector<int> slow;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        const bool waits = peer.waiting > 0 && asks_kernel(static_cast<int>(i));
        const bool completed = std::exchange(peer.completed, false);
        if (std::exchange(peer.was_waiting, waits) && waits && !completed)
            slow.push_back(static_cast<int>(i));
    }
    int lost = 0;
    // Also without any such peer: this closes the connections to those of the last time.
    const std::string why = presence_->look(slow, lost);
    if (!why.empty()) findings.push_back({lost, why});
    asking_ = !slow.empty();
}

}  // namespace lapwing
