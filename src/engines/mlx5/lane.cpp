#include "engines/mlx5/lane.hpp"

#include <algorithm>

namespace lapwing::mlx5 {

Peer::Peer(Device& device, const QueuePairOptions& options, const CompletionQueue& completions)
    : sends(device.create_queue_pair(options)), receives(sends.pair()), received(completions) {}

bool Peer::connect(Device& device, KeepAlive& keep_alive, Link& messages, int peer, std::uint32_t channel) {
    const auto exchange = [&](const void* out, void* in, std::size_t bytes) {
        messages.recv(peer, static_cast<std::byte*>(in), bytes, channel, in_);
        messages.send(peer, static_cast<const std::byte*>(out), bytes, channel, out_);
    };
    const auto exchanged = [&] {
        const bool came = messages.test(in_);
        return messages.test(out_) && came;
    };
    switch (state_) {
        case State::made:
            mine_ = {device.address(sends.pair()), keep_alive.address(peer)};
            exchange(&mine_, &theirs_, sizeof mine_);
            state_ = State::addresses;
            [[fallthrough]];
        case State::addresses:
            if (!exchanged()) return false;
            device.connect(sends.pair(), theirs_.messages);
            keep_alive.connect(peer, theirs_.keep_alive);
            exchange(&confirmed_[0], &confirmed_[1], 1);
            state_ = State::confirming;
            [[fallthrough]];
        case State::confirming:
            if (!exchanged()) return false;
            state_ = State::connected;
            [[fallthrough]];
        case State::connected:
            break;
    }
    return true;
}

Lane::Lane(Device& device, const LaneOptions& options)
    : sends(device.create_completion_queue(
          {std::max<std::uint32_t>(64, static_cast<std::uint32_t>(options.ranks)), false, true})),
      copies(device.create_completion_queue({options.depth, false, true})),
      management(device.create_completion_queue({16, false, true})),
      device_(device),
      options_(options) {}

Lane::~Lane() {
    close();
    for (const auto& [rank, peer] : peers_) device_.destroy(peer->received.queue());
    for (const CompletionReader* reader : {&sends, &copies, &management}) device_.destroy(reader->queue());
}

void Lane::close() {
    if (closed_) return;
    closed_ = true;
    for (const auto& [rank, peer] : peers_) device_.destroy(peer->sends.pair());
    if (management_queue_ != nullptr) device_.destroy(management_queue_->pair());
    if (copy_queue_ != nullptr) device_.destroy(copy_queue_->pair());
}

std::string Lane::who(std::uint32_t queue_pair) const {
    for (const auto& [rank, peer] : peers_) {
        if (peer->sends.pair().number == queue_pair) return rank_in_words(rank);
    }
    return the_card;
}

Peer& Lane::peer(int rank) {
    std::unique_ptr<Peer>& peer = peers_[rank];
    if (peer == nullptr) {
        const CompletionQueue receives = device_.create_completion_queue({options_.peer_depth, false, false});
        const QueuePairOptions options{options_.peer_depth, options_.peer_depth, &sends.queue(), &receives,
                                       options_.variant.management ? Role::managed : Role::plain};
        peer = std::make_unique<Peer>(device_, options, receives);
    }
    return *peer;
}

std::unique_ptr<SendQueue> Lane::to_itself(Role role, const CompletionReader& completions) {
    auto made = std::make_unique<SendQueue>(
        device_.create_queue_pair({options_.depth, 0, &completions.queue(), &completions.queue(), role}));
    device_.connect(made->pair(), device_.address(made->pair()));
    return made;
}

SendQueue& Lane::copy_queue() {
    if (copy_queue_ == nullptr)
        copy_queue_ = to_itself(options_.variant.management ? Role::managed : Role::plain, copies);
    return *copy_queue_;
}

SendQueue& Lane::management_queue() {
    if (management_queue_ == nullptr) management_queue_ = to_itself(Role::master, management);
    return *management_queue_;
}

}  // namespace lapwing::mlx5
