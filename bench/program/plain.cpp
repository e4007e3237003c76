#include "program/plain.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "program/clock.hpp"

namespace lapwing::bench {

namespace {

constexpr int no_receive = -1;

void wait_for(sem_t& semaphore) {
    while (sem_wait(&semaphore) != 0 && errno == EINTR) continue;
}

// A message begins with its length, for the receiver.
constexpr std::size_t header = sizeof(std::uint64_t);

}  // namespace

Plain::Plain(const Mesh& mesh, std::uint64_t max_bytes) : arrived_(static_cast<std::size_t>(mesh.ranks())) {
    sem_init(&finished_, 0, 0);
    for (int rank = 0; rank < mesh.ranks(); ++rank) {
        peers_.push_back(nullptr);
        if (rank == mesh.rank()) continue;
        peers_.back() = std::make_unique<Peer>();
        Peer& peer = *peers_.back();
        peer.rank = rank;
        peer.descriptor = mesh.data_connection(rank);
        peer.sent.resize(header + max_bytes, 1);
        peer.received.resize(max_bytes);
        sem_init(&peer.may_send, 0, 0);
        peer.sender = std::thread([this, &peer] { send_for(peer); });
        peer.receiver = std::thread([this, &peer] { receive_for(peer); });
    }
}

Plain::~Plain() {
    ending_ = true;
    for (const auto& peer : peers_) {
        if (!peer) continue;
        sem_post(&peer->may_send);
        shutdown(peer->descriptor, SHUT_RDWR);
        peer->sender.join();
        peer->receiver.join();
        sem_destroy(&peer->may_send);
    }
    sem_destroy(&finished_);
}

void Plain::start(const Traffic& traffic) {
    const std::lock_guard lock(mutex_);
    traffic_ = traffic;
    next_send_ = 0;
    started_ = true;
    go_on();
}

double Plain::join() {
    wait_for(finished_);
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw Error(ErrorCode::link, failure_);
    return end_;
}

void Plain::go_on() {
    if (!started_) return;
    const auto missing = [&](const Traffic::Receive& receive) {
        return !arrived_[static_cast<std::size_t>(receive.peer)];
    };
    const auto first_missing = std::find_if(traffic_.receives.begin(), traffic_.receives.end(), missing);
    const auto arrived = first_missing - traffic_.receives.begin();
    while (next_send_ < traffic_.sends.size() && traffic_.sends[next_send_].after <= arrived) {
        const Traffic::Send& send = traffic_.sends[next_send_++];
        Peer& peer = *peers_[static_cast<std::size_t>(send.peer)];
        peer.to_send = send.bytes;
        sem_post(&peer.may_send);
    }
    if (ended_ < traffic_.sends.size() + traffic_.receives.size()) return;
    end_ = now();
    started_ = false;
    ended_ = 0;
    std::fill(arrived_.begin(), arrived_.end(), false);
    sem_post(&finished_);
}

void Plain::finish_one(int receive_of) {
    const std::lock_guard lock(mutex_);
    if (receive_of != no_receive) arrived_[static_cast<std::size_t>(receive_of)] = true;
    ++ended_;
    go_on();
}

void Plain::fail(const std::string& what) {
    if (ending_) return;
    const std::lock_guard lock(mutex_);
    failure_ = what;
    sem_post(&finished_);
}

void Plain::send_for(Peer& peer) {
    try {
        while (true) {
            wait_for(peer.may_send);
            if (ending_) return;
            std::memcpy(peer.sent.data(), &peer.to_send, header);
            send_all(peer.descriptor, peer.sent.data(), header + peer.to_send);
            finish_one(no_receive);
        }
    } catch (const Error& error) {
        fail(error.what());
    }
}

void Plain::receive_for(Peer& peer) {
    try {
        while (true) {
            std::uint64_t bytes = 0;
            receive_all(peer.descriptor, &bytes, header);
            if (bytes > peer.received.size()) throw Error(ErrorCode::link, "a message is too long");
            receive_all(peer.descriptor, peer.received.data(), bytes);
            finish_one(peer.rank);
        }
    } catch (const Error& error) {
        fail(error.what());
    }
}

}  // namespace lapwing::bench
