#include "engines/mlx5/landing.hpp"

namespace lapwing::mlx5 {
namespace {

bool has_bytes(const std::vector<Span>& spans) {
    for (const Span& span : spans) {
        if (span.length > 0) return true;
    }
    return false;
}

// The number of messages to the queue's peer; 0 if all are empty, because these need no address.
std::uint64_t messages_with_address(const WorkQueue& queue) {
    std::uint64_t messages = 0;
    bool bytes = false;
    for (const WorkRequest& request : queue.requests) {
        if (request.kind != WorkRequest::Kind::write) continue;
        ++messages;
        bytes = bytes || request.from.length > 0;
    }
    return bytes ? messages : 0;
}

template <typename Entry>
std::byte* bytes_of(std::vector<Entry>& entries) {
    return reinterpret_cast<std::byte*>(entries.data());
}

}  // namespace

void Landing::announce(Device& device, Link& messages, const Plan& plan, std::uint32_t channel) {
    if (plan.written_to) {
        for (RunMemory& memory : memories_) memory.make(device, plan);
    }
    peers_.resize(plan.queues.copies());
    for (std::uint32_t queue = 0; queue < plan.queues.copies(); ++queue) {
        const WorkQueue& of = plan.queues.queues[queue];
        Peer& peer = peers_[queue];
        peer.theirs.resize(messages_with_address(of) * memories_.size());
        if (!peer.theirs.empty())
            messages.recv(of.peer, bytes_of(peer.theirs), peer.theirs.size() * sizeof(Target), channel,
                          peer.in);
        if (!has_bytes(of.receives)) continue;
        for (const Span& receive : of.receives) {
            for (const RunMemory& memory : memories_) {
                const RemoteData to = plan.written_to ? memory.remote(receive) : RemoteData{};
                peer.mine.push_back({to.address, to.key});
            }
        }
        messages.send(of.peer, bytes_of(peer.mine), peer.mine.size() * sizeof(Target), channel, peer.out);
    }
    announced_ = true;
}

bool Landing::exchange(Device& device, Link& messages, const Plan& plan, std::uint32_t channel) {
    if (exchanged_) return true;
    if (!announced_) announce(device, messages, plan, channel);
    bool all = true;
    for (Peer& peer : peers_) {
        all = messages.test(peer.in) && all;
        all = messages.test(peer.out) && all;
    }
    exchanged_ = all;
    return all;
}

}  // namespace lapwing::mlx5
