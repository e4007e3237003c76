#include "links/tcp/connection_table.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"

namespace lapwing::tcp {

ConnectionTable::ConnectionTable(std::uint64_t group, std::vector<int> members, int rank, int lanes)
    : group_(group),
      members_(std::move(members)),
      rank_(rank),
      lanes_(lanes),
      blocks_((members_.size() + block_peers - 1) / block_peers) {
    for (auto& block : blocks_) block.store(nullptr, std::memory_order_relaxed);
}

int ConnectionTable::rank_of(int member) const {
    const auto found = std::ranges::find(members_, member);
    return found == members_.end() ? -1 : static_cast<int>(found - members_.begin());
}

ConnectionTable::Peer* ConnectionTable::find(int peer) const {
    const auto index = static_cast<std::size_t>(peer);
    const Block* block = blocks_[index / block_peers].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : block->peers[index % block_peers].load(std::memory_order_acquire);
}

ConnectionTable::Peer& ConnectionTable::make(int peer) {
    if (Peer* const found = find(peer)) return *found;
    const auto index = static_cast<std::size_t>(peer);
    auto& block = blocks_[index / block_peers];
    if (block.load(std::memory_order_relaxed) == nullptr) {
        own_blocks_.push_back(std::make_unique<Block>());
        block.store(own_blocks_.back().get(), std::memory_order_release);
    }
    own_peers_.emplace_back(peer, std::make_unique<Peer>(lanes_));
    Peer* const made = own_peers_.back().second.get();
    block.load(std::memory_order_relaxed)->peers[index % block_peers].store(made, std::memory_order_release);
    return *made;
}

void ConnectionTable::check(int peer, int lane) const {
    if (peer >= 0 && peer < static_cast<int>(members_.size()) && peer != rank_ && lane >= 0 && lane < lanes_)
        return;
    throw_invalid("rank {} of {} has no connection to rank {} on lane {} of {}", rank_, members_.size(), peer,
                  lane, lanes_);
}

bool ConnectionTable::want(int peer, int lane) {
    check(peer, lane);
    Peer* found = find(peer);
    const auto index = static_cast<std::size_t>(lane);
    if (found != nullptr && found->lanes[index].state.load(std::memory_order_relaxed) != none) return false;
    const std::lock_guard lock(mutex_);
    found = &make(peer);
    int expected = none;
    return found->lanes[index].state.compare_exchange_strong(expected, making) && own_member() > member(peer);
}

int ConnectionTable::descriptor(int peer, int lane) {
    check(peer, lane);
    Peer* const found = find(peer);
    if (found == nullptr) {
        fail_if_aborted();
        return -1;
    }
    auto& state = found->lanes[static_cast<std::size_t>(lane)].state;
    int value = state.load(std::memory_order_acquire);
    // The program uses it from now on: a newer connection does not replace it any more.
    while (value >= 0 && (value & 1) != 0 && !state.compare_exchange_weak(value, value & ~1)) {
    }
    if (value >= 0) return value >> 1;
    if (value != failed) {
        fail_if_aborted();
        return -1;
    }
    const std::lock_guard lock(mutex_);
    throw Error(ErrorCode::link, found->lanes[static_cast<std::size_t>(lane)].failure);
}

void ConnectionTable::fail_if_aborted() {
    if (!closed()) return;
    const std::lock_guard lock(mutex_);
    throw Error(ErrorCode::link, given_up_);
}

const char* ConnectionTable::refuses(int member, int lane) {
    if (closed()) return nullptr;  // take_in() drops the connection: the peer will free its group as well
    const int peer = rank_of(member);
    if (peer < 0 || peer == rank_) return "it belongs to this job, but not to the group that it names";
    if (lane < 0 || lane >= lanes_) return "it belongs to this job, but its group has fewer lanes here";
    const Peer* const found = find(peer);
    if (found == nullptr) return nullptr;
    const int state = found->lanes[static_cast<std::size_t>(lane)].state.load(std::memory_order_acquire);
    if (state == failed) return "it belongs to this job, but connected too late";
    if (state >= 0 && (state & 1) == 0) return "it belongs to this job, but is already connected";
    return nullptr;
}

bool ConnectionTable::take_in(int member, int lane, int descriptor, const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (closed() || refuses(member, lane) != nullptr) return false;
    Peer& peer = make(rank_of(member));
    auto& state = peer.lanes[static_cast<std::size_t>(lane)].state;
    int before = state.load(std::memory_order_acquire);
    while (true) {
        if (before >= 0 && (before & 1) == 0) return false;
        if (state.compare_exchange_weak(before, descriptor * 2 + 1)) break;
    }
    // The peer closed the older one before it made a newer one.
    if (before >= 0) ::close(before >> 1);
    peer.address = address;
    return true;
}

void ConnectionTable::fail(int peer, int lane, const std::string& why) {
    const std::lock_guard lock(mutex_);
    Lane& found = make(peer).lanes[static_cast<std::size_t>(lane)];
    found.failure = why;
    found.state.store(failed, std::memory_order_release);
}

template <typename Work>
void ConnectionTable::each_peer(const Work& work) {
    for (const auto& [rank, peer] : own_peers_) work(rank, *peer);
}

void ConnectionTable::fail_awaited(const std::string& why) {
    const std::lock_guard lock(mutex_);
    each_peer([&](int rank, Peer& peer) {
        if (own_member() > member(rank)) return;
        for (Lane& lane : peer.lanes) {
            if (lane.state.load(std::memory_order_relaxed) != making) continue;
            lane.failure = fmt::format("no connection from rank {}: {}", rank, why);
            lane.state.store(failed, std::memory_order_release);
        }
    });
}

void ConnectionTable::on_change(std::function<void()> work) {
    const std::lock_guard lock(telling_);
    change_ = work ? std::make_shared<std::function<void()>>(std::move(work)) : nullptr;
}

void ConnectionTable::tell() {
    const std::lock_guard lock(telling_);
    // The work may call on_change().
    const auto work = change_;
    if (work) (*work)();
}

void ConnectionTable::give_up(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (closed()) return;
    given_up_ = why;
    closed_.store(true, std::memory_order_release);
    each_peer([&](int, Peer& peer) {
        for (Lane& lane : peer.lanes) {
            const int value = lane.state.load(std::memory_order_acquire);
            if (value >= 0) shutdown(value >> 1, SHUT_RDWR);
        }
    });
}

void ConnectionTable::close() {
    on_change({});
    const std::lock_guard lock(mutex_);
    closed_.store(true, std::memory_order_release);
    each_peer([&](int, Peer& peer) {
        for (Lane& lane : peer.lanes) {
            const int value = lane.state.exchange(none);
            if (value < 0) continue;
            // Ends the kernel's operations on this connection now, not when the kernel releases the socket.
            shutdown(value >> 1, SHUT_RDWR);
            ::close(value >> 1);
        }
    });
}

std::string ConnectionTable::address(int peer) {
    const Peer* const found = find(peer);
    if (found == nullptr) return {};
    const std::lock_guard lock(mutex_);
    return found->address;
}

}  // namespace lapwing::tcp
