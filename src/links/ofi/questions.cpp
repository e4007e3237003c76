#if __has_include(<rdma/fi_tagged.h>)

#include "links/ofi/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lapwing::ofi {
namespace {

template <typename Words>
const std::byte* bytes_of(const Words& words) {
    return reinterpret_cast<const std::byte*>(&words);
}

}  // namespace

Questions::Questions(Transfers& transfers, std::uint64_t tag, int self, std::chrono::seconds patience)
    : transfers_(transfers),
      patience_(patience),
      question_{static_cast<std::uint32_t>(self), 1},
      answer_{static_cast<std::uint32_t>(self), 0},
      peers_(transfers.peers()),
      last_look_(std::chrono::steady_clock::now()) {
    group_.tag = tag;
    group_.standing = true;
    transfers_.add(group_);
    listen();
}

void Questions::step() {
    if (listening_ != nullptr && listening_->left == 0) answer();
    if (!transfers_.has_unfinished()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look_ < Silence::time_between_looks(patience_)) return;
    last_look_ = now;
    look();
}

void Questions::listen() {
    listening_ = &transfers_.start(group_, any_peer, true, bytes_of(heard_), sizeof heard_, group_.tag);
}

void Questions::answer() {
    const bool came = listening_->failure.empty();
    transfers_.finish(*listening_);
    listening_ = nullptr;
    finish_sends();
    if (!group_.broken.empty()) return;
    const Words words = heard_;
    listen();
    if (!came || words.sender >= peers_.size()) return;
    peers_[words.sender].silence.heard();
    if (words.asks != 0) tell(static_cast<int>(words.sender), answer_);
}

void Questions::look() {
    finish_sends();
    for (const int peer : transfers_.waited_for()) peers_[static_cast<std::size_t>(peer)].waited_for = true;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& of = peers_[i];
        const int peer = static_cast<int>(i);
        const std::uint64_t received = transfers_.received(peer);
        if (received != std::exchange(of.received, received)) of.silence.heard();
        const Silence::Verdict verdict = of.silence.look(std::exchange(of.waited_for, false));
        if (verdict == Silence::Verdict::ask) tell(peer, question_);
        if (verdict == Silence::Verdict::lost)
            transfers_.lose(peer, fmt::format("nothing was heard of it for {} s", patience_.count()));
    }
}

// One at a time: a network that is gone takes none.
void Questions::tell(int peer, const Words& words) {
    const auto is_to_it = [&](const Message* one) { return one->peer == peer; };
    if (std::none_of(group_.messages.begin(), group_.messages.end(), is_to_it))
        transfers_.start(group_, peer, false, bytes_of(words), sizeof words, group_.tag);
}

void Questions::finish_sends() {
    // From the end: the last takes the place of one that is finished.
    for (std::size_t i = group_.messages.size(); i-- > 0;) {
        Message& message = *group_.messages[i];
        if (!message.receive && message.left == 0) transfers_.finish(message);
    }
}

}  // namespace lapwing::ofi

#endif
