#include "links/stream_link.hpp"

namespace lapwing {
namespace {

constexpr std::uint64_t only_group = 0;

}  // namespace

void StreamLink::send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    check();
    Streams::Message& message = streams_.send(peer, only_group, channel, data, bytes);
    transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
    check();
}

void StreamLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    check();
    Streams::Message& message = streams_.recv(peer, only_group, channel, data, bytes);
    transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
    check();
}

bool StreamLink::test(Transfer& transfer) {
    if (!transfer.active) return true;
    auto& message = *reinterpret_cast<Streams::Message*>(transfer.handle);
    if (!message.complete) progress();
    if (!message.complete) return false;
    streams_.finish(message);
    transfer = {};
    return true;
}

void StreamLink::progress() {
    check();
    streams_.progress();
    check();
}

void StreamLink::check() {
    if (broken_.empty() && streams_.trouble().empty()) return;
    if (broken_.empty()) {
        broken_ = streams_.trouble();
        connections_.give_up(broken_);
    }
    throw Error(ErrorCode::link, broken_);
}

}  // namespace lapwing
