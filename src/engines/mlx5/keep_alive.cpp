#include "engines/mlx5/keep_alive.hpp"

#include <algorithm>

namespace lapwing::mlx5 {
namespace {

constexpr std::uint32_t ring_blocks = 4;  // one is in use at a time

}  // namespace

KeepAlive::KeepAlive(Device& device, int ranks) : device_(device), ranks_(ranks) {}

KeepAlive::Peer& KeepAlive::peer(int rank) {
    const auto known = peers_.find(rank);
    if (known != peers_.end()) return known->second;
    if (!answers_)
        answers_.emplace(device_.create_completion_queue(
            {std::max<std::uint32_t>(64, static_cast<std::uint32_t>(ranks_)), false, false}));
    const CompletionQueue& answers = answers_->queue();
    const QueuePairOptions options{ring_blocks, 0, &answers, &answers, Role::plain};
    return peers_.emplace(rank, device_.create_queue_pair(options)).first->second;
}

Address KeepAlive::address(int rank) {
    return device_.address(peer(rank).queue.pair());
}

void KeepAlive::connect(int rank, const Address& theirs) {
    Peer& of = peer(rank);
    if (!of.connected) device_.connect(of.queue.pair(), theirs);
    of.connected = true;
}

void KeepAlive::ask(int rank) {
    const auto found = peers_.find(rank);
    if (found == peers_.end() || !found->second.connected || found->second.asked) return;
    SendQueue& queue = found->second.queue;
    put_write(queue.block(), {queue.next(), queue.pair().number}, {}, {}, false, Report::yes);
    queue.post();
    queue.ring();
    found->second.asked = true;
}

bool KeepAlive::some_are_lost() {
    if (!answers_) return false;
    answers_->read_all([&](const Completion& answer) {
        const auto of = std::find_if(peers_.begin(), peers_.end(), [&](const auto& one) {
            return one.second.queue.pair().number == answer.queue_pair;
        });
        if (of == peers_.end()) return;
        of->second.asked = answer.error;  // do not ask again
        if (answer.error) of->second.lost = syndrome_in_words(answer.syndrome);
        some_are_lost_ = some_are_lost_ || answer.error;
    });
    return some_are_lost_;
}

std::string KeepAlive::why_lost(int rank) const {
    const auto found = peers_.find(rank);
    return found == peers_.end() ? "" : found->second.lost;
}

void KeepAlive::close() {
    for (const auto& [rank, peer] : peers_) device_.destroy(peer.queue.pair());
    peers_.clear();
    if (answers_) device_.destroy(answers_->queue());
    answers_.reset();
}

}  // namespace lapwing::mlx5
