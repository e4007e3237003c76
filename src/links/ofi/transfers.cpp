#if __has_include(<rdma/fi_tagged.h>)

#include "links/ofi/transfers.hpp"

#include <fmt/format.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "links/ofi/library.hpp"

namespace lapwing::ofi {
namespace {

// A provider that is full has room again when something completes; but a connection that comes to stand
// completes nothing.
constexpr auto retry_interval = std::chrono::microseconds(100);

// So long a piece that a provider without a limit is not asked for more.
constexpr std::size_t longest_piece = std::size_t{1} << 30;

constexpr int completions_at_once = 16;

// The rxm of libfabric sends no longer message before the receiver has asked for it; 16 KiB, unless the user
// has set more.
constexpr std::size_t longest_eager = 64 * 1024;

}  // namespace

Transfers::Transfers(Endpoint& endpoint)
    : endpoint_(endpoint),
      max_bytes_(std::min(endpoint.info().ep_attr->max_msg_size, longest_piece)),
      inject_(endpoint.info().tx_attr->inject_size),
      injects_silently_(endpoint.traits().sends_in_order),
      overflow_(endpoint.traits().excess_disconnects && endpoint.info().rx_attr->iov_limit > 1 ? longest_eager
                                                                                               : 0),
      provider_(endpoint.provider()),
      registration_(endpoint) {}

void Transfers::join(const std::vector<BusinessCard>& cards, std::vector<std::string> names,
                     std::uint64_t farewell) {
    farewells_.tag = farewell;
    const std::vector<fi_addr_t> addresses = endpoint_.insert(cards);
    names_ = std::move(names);
    peers_.resize(cards.size());
    for (std::size_t i = 0; i < cards.size(); ++i) {
        peers_[i].address = addresses[i];
        farewells_.members.push_back(static_cast<int>(i));
    }
    add(farewells_);
}

void Transfers::add(Group& group) {
    groups_.push_back(&group);
    group.broken = given_up_;
    for (const int member : group.members)
        if (group.broken.empty()) group.broken = peer_of(member).lost;
}

void Transfers::remove(Group& group) {
    while (!group.messages.empty()) {
        give_up(*group.messages.back());
        finish(*group.messages.back());
    }
    groups_.erase(std::find(groups_.begin(), groups_.end(), &group));
}

Message& Transfers::start(Group& group, int peer, bool receive, const std::byte* data, std::uint64_t bytes,
                          std::uint64_t tag) {
    Message& message = messages_.take();
    message.group = &group;
    message.place = group.messages.size();
    message.peer = peer;
    message.receive = receive;
    message.tag = tag;
    message.left = std::max<std::uint64_t>((bytes + max_bytes_ - 1) / max_bytes_, 1);
    message.code = ErrorCode::link;
    message.seen = false;
    message.news = 0;
    group.messages.push_back(&message);
    if (!group.standing) ++unfinished_;
    for (std::size_t i = 0, pieces = message.left; i < pieces && message.failure.empty(); ++i) {
        Piece& piece = pieces_.take();
        piece.message = &message;
        piece.peer = peer;
        piece.receive = receive;
        piece.data = data + i * max_bytes_;
        piece.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(max_bytes_, bytes - i * max_bytes_));
        message.pieces.push_back(&piece);
        give(piece);
    }
    return message;
}

void Transfers::finish(Message& message) {
    std::vector<Message*>& all = message.group->messages;
    all[message.place] = all.back();
    all[message.place]->place = message.place;
    all.pop_back();
    message.failure.clear();
    if (message.news == forgotten_) --news_;
    messages_.release(message);
}

// Posts it, or puts it behind what waits already: messages of a pair and a tag keep their order.
void Transfers::give(Piece& piece) {
    std::deque<Piece*>& waiting = piece.receive ? waiting_receives_ : peer_of(piece.peer).waiting;
    if (waiting.empty()) {
        const Posted posted = post(piece);
        if (posted == Posted::failed) free(piece);
        if (posted != Posted::full) return;
        next_retry_ = std::chrono::steady_clock::now() + retry_interval;
    }
    waiting.push_back(&piece);
    if (piece.receive || std::exchange(peer_of(piece.peer).listed, true)) return;
    waiting_peers_.push_back(piece.peer);
}

Transfers::Posted Transfers::post(Piece& piece) {
    Message& message = *piece.message;
    // Copied at once.
    const bool inject = !piece.receive && piece.bytes <= inject_;
    const bool silent =
        inject && injects_silently_ && message.group != &farewells_ && !message.group->standing;
    try {
        piece.span =
            inject ? Registration::Span{} : registration_.take(piece.data, piece.bytes, piece.receive);
    } catch (const Error& error) {
        fail(message, error.code(), error.what());
        return Posted::failed;
    }
    iovec spans[2] = {{inject ? const_cast<std::byte*>(piece.data) : piece.span.data, piece.bytes}, {}};
    void* descriptors[2] = {piece.span.descriptor, nullptr};
    std::size_t count = 1;
    if (piece.receive && piece.bytes < overflow_.size()) {
        if (piece.bytes == 0) count = 0;
        spans[count++] = {overflow_.data(), overflow_.size() - piece.bytes};
    }
    fi_msg_tagged request{};
    request.msg_iov = spans;
    request.desc = descriptors;
    request.iov_count = count;
    request.addr = piece.peer == any_peer ? FI_ADDR_UNSPEC : peer_of(piece.peer).address;
    request.tag = message.tag;
    request.context = &piece.context;
    const std::uint64_t flags = FI_COMPLETION | (inject ? FI_INJECT : 0);
    fid_ep* endpoint = endpoint_.endpoint();
    const long result = silent ? ::fi_tinject(endpoint, piece.data, piece.bytes, request.addr, request.tag)
                        : piece.receive ? ::fi_trecvmsg(endpoint, &request, flags)
                                        : ::fi_tsendmsg(endpoint, &request, flags);
    if (result != 0) registration_.give_back(piece.span);
    if (result == -FI_EAGAIN) return Posted::full;
    if (result != 0 && piece.peer == any_peer) {
        fail(message, ErrorCode::link, why(result));
        return Posted::failed;
    }
    if (result != 0) {
        lose(piece.peer, fmt::format("libfabric ({}) refuses a {} it: {}", provider_,
                                     piece.receive ? "receive from" : "send to", why(result)));
        return Posted::failed;
    }
    if (!piece.receive && !silent) ++sends_;
    if (silent && !std::exchange(peer_of(piece.peer).has_silent_sends, true))
        silent_peers_.push_back(piece.peer);
    if (inject) settle(piece);
    if (silent) free(piece);
    return Posted::yes;
}

void Transfers::say_farewell() {
    for (const int peer : std::exchange(silent_peers_, {})) {
        peer_of(peer).has_silent_sends = false;
        Message& message = start(farewells_, peer, false, nullptr, 0, farewells_.tag);
        if (message.left == 0) finish(message);
    }
}

bool Transfers::retry() {
    bool moved = retry(waiting_receives_);
    // A failure may take peers out of their groups, but not out of this list.
    for (std::size_t i = 0; i < waiting_peers_.size();) {
        Peer& peer = peer_of(waiting_peers_[i]);
        moved = retry(peer.waiting) || moved;
        if (peer.waiting.empty()) {
            peer.listed = false;
            waiting_peers_[i] = waiting_peers_.back();
            waiting_peers_.pop_back();
        } else {
            ++i;
        }
    }
    next_retry_ = std::chrono::steady_clock::now() + retry_interval;
    return moved;
}

bool Transfers::retry(std::deque<Piece*>& waiting) {
    bool moved = false;
    while (!waiting.empty()) {
        Piece& piece = *waiting.front();
        if (piece.message == nullptr) {
            waiting.pop_front();
            free(piece);
            continue;
        }
        const Posted posted = post(piece);
        if (posted == Posted::full) break;
        // One that has failed is given up like the others, but is still first here: the next round frees it.
        if (posted == Posted::yes) waiting.pop_front();
        moved = true;
    }
    return moved;
}

bool Transfers::step() {
    fi_cq_msg_entry entries[completions_at_once];
    const ssize_t count = ::fi_cq_read(endpoint_.completions(), entries, completions_at_once);
    for (ssize_t i = 0; i < count; ++i) {
        auto* piece = static_cast<Piece*>(entries[i].op_context);
        if (piece != nullptr) complete(*piece, entries[i].len);
    }
    bool moved = count > 0;
    if (count == -FI_EAVAIL) {
        moved = take_error();
    } else if (count < 0 && count != -FI_EAGAIN) {
        fail_all(fmt::format("the network has failed: libfabric ({}) cannot read its completions: {}",
                             provider_, why(count)));
    }
    if (has_backlog() && (moved || std::chrono::steady_clock::now() >= next_retry_)) moved = retry() || moved;
    return moved;
}

void Transfers::complete(Piece& piece, std::size_t bytes) {
    if (!piece.receive) --sends_;
    if (piece.receive && piece.peer != any_peer) ++peer_of(piece.peer).received;
    Message* message = piece.message;
    if (message != nullptr && piece.receive && bytes != piece.bytes) {
        fail(*message, bytes > piece.bytes ? ErrorCode::truncated : ErrorCode::link,
             fmt::format(
                 "rank {} has sent {} bytes where {} are expected: the arguments of a collective differ, or "
                 "its place in the order",
                 piece.peer, bytes, piece.bytes));
    } else if (message != nullptr) {
        if (piece.receive && piece.span.bounce != nullptr)
            std::memcpy(const_cast<std::byte*>(piece.data), piece.span.data, bytes);
        settle(piece);
    }
    free(piece);
}

// Nothing of the piece is needed any more by the message.
void Transfers::settle(Piece& piece) {
    Message& message = *piece.message;
    piece.message = nullptr;
    std::erase(message.pieces, &piece);
    if (--message.left == 0) end(message);
}

// It is complete, or has failed.
void Transfers::end(Message& message) {
    if (message.group->standing) return;
    --unfinished_;
    message.news = forgotten_;
    ++news_;
}

void Transfers::forget_completed() {
    ++forgotten_;
    news_ = 0;
}

template <typename Which>
std::vector<int> Transfers::peers_of(Which which) const {
    std::vector<int> peers;
    for (const Group* group : groups_) {
        if (group->standing) continue;
        for (Message* message : group->messages)
            if (message->left > 0 && which(*message)) peers.push_back(message->peer);
    }
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
}

std::vector<int> Transfers::waited_for() const {
    return peers_of([](const Message&) { return true; });
}

std::vector<int> Transfers::slow_peers() {
    return peers_of([](Message& message) { return std::exchange(message.seen, true); });
}

void Transfers::free(Piece& piece) {
    registration_.give_back(piece.span);
    piece.message = nullptr;
    pieces_.release(piece);
}

bool Transfers::take_error() {
    fi_cq_err_entry error{};
    fid_cq* completions = endpoint_.completions();
    if (::fi_cq_readerr(completions, &error, 0) < 0) return false;
    const char* detail = ::fi_cq_strerror(completions, error.prov_errno, error.err_data, nullptr, 0);
    const std::string reason = detail == nullptr || *detail == '\0' || why(error.err) == detail
                                   ? why(error.err)
                                   : fmt::format("{} ({})", why(error.err), detail);
    auto* piece = static_cast<Piece*>(error.op_context);
    if (piece == nullptr) {
        fail_all(fmt::format("the network has failed: libfabric ({}) reports: {}", provider_, reason));
        return true;
    }
    if (!piece->receive) --sends_;
    const int peer = piece->peer;
    Message* message = piece->message;
    if (error.err == FI_ECANCELED) {
        if (message != nullptr)
            fail(*message, ErrorCode::link,
                 fmt::format("libfabric ({}) has cancelled a transfer", provider_));
    } else if (error.err == FI_ETRUNC && piece->receive) {
        if (message != nullptr)
            fail(*message, ErrorCode::truncated,
                 fmt::format("rank {} has sent more than the {} bytes that are expected: the arguments of a "
                             "collective differ, or its place in the order",
                             peer, piece->bytes));
    } else if (peer == any_peer) {
        if (message != nullptr) fail(*message, ErrorCode::link, reason);
    } else {
        lose(peer, fmt::format("libfabric ({}) reports of a {} it: {}", provider_,
                               piece->receive ? "receive from" : "send to", reason));
    }
    free(*piece);
    return true;
}

void Transfers::fail(Message& message, ErrorCode code, const std::string& why) {
    if (message.left == 0 || !message.failure.empty()) return;
    message.code = code;
    message.failure = why;
    give_up(message);
}

// The provider is asked to leave the caller's bytes alone: a receive that has begun, and a send, go on to
// their end.
void Transfers::give_up(Message& message) {
    if (message.left == 0) return;
    message.left = 0;
    end(message);
    for (Piece* piece : message.pieces) {
        piece->message = nullptr;
        if (message.receive) ::fi_cancel(&endpoint_.endpoint()->fid, &piece->context);
    }
    message.pieces.clear();
}

void Transfers::lose(int peer, const std::string& why) {
    Peer& lost = peer_of(peer);
    if (!lost.lost.empty()) return;
    lost_ = true;
    lost.lost = fmt::format("{} is out of reach: {}", names_[static_cast<std::size_t>(peer)], why);
    for (Group* group : groups_) {
        if (std::find(group->members.begin(), group->members.end(), peer) != group->members.end())
            break_group(*group, lost.lost);
        if (!group->standing) continue;
        for (Message* message : group->messages)
            if (message->peer == peer) fail(*message, ErrorCode::link, lost.lost);
    }
}

void Transfers::break_group(Group& group, const std::string& why) {
    if (group.broken.empty()) group.broken = why;
    for (Message* message : group.messages) fail(*message, ErrorCode::link, group.broken);
}

void Transfers::fail_all(const std::string& why) {
    if (!given_up_.empty()) return;
    given_up_ = why;
    ++news_;
    for (Group* group : groups_) break_group(*group, given_up_);
}

}  // namespace lapwing::ofi

#endif
