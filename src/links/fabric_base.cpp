#include "links/fabric_base.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/short_message.hpp"

namespace lapwing {

std::vector<std::byte> FabricBase::address() const {
    const std::vector<std::byte> own = card();
    std::vector<std::byte> all(sizeof(tcp::Address) + own.size());
    std::memcpy(all.data(), &watch_.address(), sizeof(tcp::Address));
    std::ranges::copy(own, all.begin() + sizeof(tcp::Address));
    return all;
}

void FabricBase::refuse_address(std::size_t rank) {
    throw Error(ErrorCode::link,
                "rank {} has sent an address of another form: do all ranks run the same version of Lapwing?",
                rank);
}

void FabricBase::join(std::vector<Peer> peers, int self, const JobKey& key) {
    std::vector<tcp::Address> kernels(peers.size());
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        std::vector<std::byte>& address = peers[rank].address;
        if (address.size() < sizeof(tcp::Address)) refuse_address(rank);
        std::memcpy(&kernels[rank], address.data(), sizeof(tcp::Address));
        address.erase(address.begin(), address.begin() + sizeof(tcp::Address));
    }
    const auto lock = hold();
    join_ranks(peers, std::move(kernels));
    reach(peers, self, key);
}

void FabricBase::join_ranks(const std::vector<Peer>& peers, std::vector<tcp::Address> addresses) {
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        const std::string& host = peers[rank].host;
        names_.push_back(fmt::format("rank {}{}", rank, host.empty() ? "" : " (" + host + ")"));
    }
    lost_.resize(peers.size());
    watch_.join(peers.size(), std::move(addresses));
}

std::unique_ptr<Link> FabricBase::link(std::uint64_t group, std::vector<int> members) {
    return std::make_unique<FabricLink>(*this, group, std::move(members));
}

bool FabricBase::progress() {
    return lock_.drive([&] { return advance(); }, [&] { watch_peers(); });
}

bool FabricBase::has_events() {
    const auto lock = hold();
    // What a caller has sent may have taken in writes of a peer, of which the progress thread hears nothing.
    poll_inboxes();
    return unseen_ > 0;
}

void FabricBase::forget_completed() {
    const auto lock = hold();
    ++epoch_;
    unseen_ = 0;
}

bool FabricBase::flush() {
    const auto lock = hold();
    advance();
    return ((inboxes_ == nullptr || !inboxes_->has_backlog()) && flushed()) || some_lost_ ||
           !given_up_.empty();
}

void FabricBase::give_up(const std::string& why) {
    const auto lock = hold();
    fail_all(why);
}

void FabricBase::add(FabricGroup& group) {
    open_group(group);
    groups_.push_back(&group);
    group.broken = given_up_;
    for (const int member : group.members)
        if (group.broken.empty()) group.broken = lost_[static_cast<std::size_t>(member)];
}

void FabricBase::remove(FabricGroup& group) {
    while (!group.messages.empty()) {
        abandon_parts(*group.messages.back());
        finish(*group.messages.back());
    }
    std::erase(groups_, &group);
    close_group(group);
}

FabricMessage& FabricBase::start(FabricGroup& group, int peer, bool receive, const std::byte* data,
                                 std::uint64_t bytes, std::uint32_t channel) {
    FabricMessage& message = messages_.take();
    message.group = &group;
    message.index = group.messages.size();
    message.peer = peer;
    message.receive = receive;
    message.channel = channel;
    message.data = const_cast<std::byte*>(data);
    message.bytes = bytes;
    message.left = 1;
    message.epoch = 0;
    message.code = ErrorCode::link;
    group.messages.push_back(&message);
    if (!group.internal) watch_.started(peer);
    if (goes_by_inbox(message))
        inboxes_->begin(message);
    else
        begin(message);
    return message;
}

bool FabricBase::test(Link::Transfer& transfer) {
    if (!transfer.active) return true;
    auto& message = *reinterpret_cast<FabricMessage*>(transfer.handle);
    const auto lock = hold();
    if (message.left > 0) {
        // The progress thread may be asleep.
        watch_peers();
        advance();
    }
    if (message.left > 0) return false;
    if (!message.failure.empty()) throw Error(message.code, message.failure);
    finish(message);
    transfer = {};
    return true;
}

void FabricBase::complete_part(FabricMessage& message, void* part) {
    std::erase(message.parts, part);
    if (--message.left == 0) end(message);
}

// It has completed or failed.
void FabricBase::end(FabricMessage& message) {
    if (message.group->internal) return;
    watch_.ended(message.peer);
    message.epoch = epoch_;
    ++unseen_;
}

void FabricBase::finish(FabricMessage& message) {
    std::vector<FabricMessage*>& all = message.group->messages;
    all[message.index] = all.back();
    all[message.index]->index = message.index;
    all.pop_back();
    message.failure.clear();
    if (message.epoch == epoch_ && unseen_ > 0) --unseen_;
    messages_.release(message);
}

void FabricBase::fail(FabricMessage& message, ErrorCode code, const std::string& why) {
    if (message.left == 0) return;
    message.code = code;
    message.failure = why;
    abandon_parts(message);
}

void FabricBase::abandon_parts(FabricMessage& message) {
    if (message.left == 0) return;
    message.left = 0;
    end(message);
    if (goes_by_inbox(message)) inboxes_->abandon(message);
    for (void* const part : message.parts) abandon(part);
    message.parts.clear();
}

void FabricBase::complete_receive(FabricMessage& message, const std::byte* data, std::uint64_t bytes) {
    if (!expects(message, bytes)) return;
    if (bytes > 0) std::memcpy(message.data, data, bytes);
    complete_part(message, nullptr);
}

bool FabricBase::expects(FabricMessage& message, std::uint64_t bytes) {
    if (bytes == message.bytes) return true;
    fail_length(message, bytes > message.bytes ? ErrorCode::truncated : ErrorCode::link,
                fmt::format("{} bytes where {} are expected", bytes, message.bytes));
    return false;
}

void FabricBase::fail_too_long(FabricMessage& message) {
    fail_length(message, ErrorCode::truncated,
                fmt::format("more than the {} bytes that are expected", message.bytes));
}

void FabricBase::fail_length(FabricMessage& message, ErrorCode code, const std::string& sent) {
    const std::string why = fmt::format(
        "{} has sent {}: ranks disagree on the arguments of a collective, or call collectives in "
        "different orders",
        message.group->internal ? "a rank" : describe(message.peer), sent);
    fail(message, code, why);
    on_failure(why);
}

void FabricBase::watch_peers() {
    int lost = 0;
    const std::string why = watch_.find_lost([this](int peer) { return asks_kernel(peer); }, lost);
    if (!why.empty()) lose_out_of_reach(lost, why);
}

void FabricBase::lose_out_of_reach(int peer, const std::string& why) {
    lose(peer, fmt::format("{} is unreachable: {}", describe(peer), why));
}

void FabricBase::lose(int peer, const std::string& why) {
    if (is_lost(peer)) return;
    some_lost_ = true;
    lost_[static_cast<std::size_t>(peer)] = why;
    ++unseen_;
    for (FabricGroup* group : groups_) {
        if (std::ranges::find(group->members, peer) != group->members.end()) break_group(*group, why);
        if (!group->internal) continue;
        for (FabricMessage* message : group->messages)
            if (message->peer == peer) fail(*message, ErrorCode::link, why);
    }
    on_failure(why);
}

void FabricBase::break_group(FabricGroup& group, const std::string& why) {
    if (group.broken.empty()) group.broken = why;
    for (FabricMessage* message : group.messages) fail(*message, ErrorCode::link, group.broken);
}

void FabricBase::fail_all(const std::string& why) {
    if (!given_up_.empty()) return;
    given_up_ = why;
    ++unseen_;
    for (FabricGroup* group : groups_) break_group(*group, why);
}

FabricLink::FabricLink(FabricBase& fabric, std::uint64_t group, std::vector<int> members) : fabric_(fabric) {
    group_.number = group;
    group_.members = std::move(members);
    const auto lock = fabric_.hold();
    fabric_.add(group_);
}

FabricLink::~FabricLink() {
    const auto lock = fabric_.hold();
    fabric_.remove(group_);
}

bool FabricLink::sends_slowly(int, std::uint64_t bytes) const {
    return bytes > max_short_bytes && !fabric_.rdma();
}

void FabricLink::check() const {
    if (!group_.broken.empty()) throw Error(ErrorCode::link, group_.broken);
}

void FabricLink::start(int peer, bool receive, const std::byte* data, std::uint64_t bytes,
                       std::uint32_t channel, Transfer& transfer) {
    const auto lock = fabric_.hold();
    check();
    FabricMessage& message =
        fabric_.start(group_, group_.members[static_cast<std::size_t>(peer)], receive, data, bytes, channel);
    transfer = {};
    if (message.left == 0 && message.failure.empty())
        fabric_.finish(message);
    else
        transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
}

void FabricLink::progress() {
    const auto lock = fabric_.hold();
    fabric_.watch_peers();
    fabric_.advance();
    check();
}

}  // namespace lapwing
