#include "links/ofi/transfers.hpp"

#include <fmt/format.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "links/ofi/library.hpp"

namespace lapwing::ofi {
namespace {

// A provider that is full has room again when something completes; but a connection that has been established
// completes nothing.
constexpr auto retry_interval = std::chrono::microseconds(100);

constexpr int max_completions_of_step = 16;

}  // namespace

void OfiFabric::begin(FabricMessage& message) {
    message.left = std::max<std::uint64_t>((message.bytes + max_bytes_ - 1) / max_bytes_, 1);
    for (std::size_t i = 0, pieces = message.left; i < pieces && message.failure.empty(); ++i) {
        Piece& piece = pieces_.take();
        piece.message = &message;
        piece.peer = message.peer;
        piece.receive = message.receive;
        piece.data = message.data + i * max_bytes_;
        piece.bytes =
            static_cast<std::size_t>(std::min<std::uint64_t>(max_bytes_, message.bytes - i * max_bytes_));
        message.parts.push_back(&piece);
        give(piece);
    }
}

// Posts the piece, or appends it to those that wait: messages of a pair and a tag keep their order.
void OfiFabric::give(Piece& piece) {
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

OfiFabric::Posted OfiFabric::post(Piece& piece) {
    FabricMessage& message = *piece.message;
    const bool inject = !piece.receive && piece.bytes <= inject_;
    const bool silent = inject && injects_silently_ && !message.group->internal;
    try {
        piece.span =
            inject ? Registration::Span{} : registration_->take(piece.data, piece.bytes, piece.receive);
    } catch (const Error& error) {
        fail(message, error.code(), error.what());
        return Posted::failed;
    }
    iovec spans[2] = {{inject ? piece.data : piece.span.data, piece.bytes}, {}};
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
    request.addr = peer_of(piece.peer).address;
    request.tag = message.group->tag | Tags::of_channel(message.channel);
    request.context = &piece.context;
    const std::uint64_t flags = FI_COMPLETION | (inject ? FI_INJECT : 0);
    fid_ep* endpoint = endpoint_->endpoint();
    const long result = silent ? ::fi_tinject(endpoint, piece.data, piece.bytes, request.addr, request.tag)
                        : piece.receive ? ::fi_trecvmsg(endpoint, &request, flags)
                                        : ::fi_tsendmsg(endpoint, &request, flags);
    if (result != 0) registration_->release(piece.span);
    if (result == -FI_EAGAIN) return Posted::full;
    if (result != 0) {
        lose_out_of_reach(piece.peer,
                          fmt::format("libfabric ({}): {} failed: {}", provider_,
                                      piece.receive ? "fi_trecvmsg" : "fi_tsendmsg", why(result)));
        return Posted::failed;
    }
    if (!piece.receive && !silent) ++sends_;
    if (silent) sent_silently(piece.peer);
    if (inject) settle(piece);
    if (silent) free(piece);
    return Posted::yes;
}

void OfiFabric::sent_silently(int peer) {
    if (!std::exchange(peer_of(peer).has_silent_sends, true)) silent_peers_.push_back(peer);
}

bool OfiFabric::put(int peer, const std::byte* bytes, std::uint64_t offset, std::size_t count,
                    FabricMessage* message) {
    if (is_lost(peer)) return false;
    const PeerState& to = peer_of(peer);
    fid_ep* endpoint = endpoint_->endpoint();
    Piece* piece = nullptr;
    long result = 0;
    if (injects_silently_ && count <= inject_) {
        result = ::fi_inject_write(endpoint, bytes, count, to.address, to.memory + offset, to.memory_key);
    } else {
        piece = &pieces_.take();
        piece->message = nullptr;
        piece->peer = peer;
        piece->receive = false;
        result = ::fi_write(endpoint, bytes, count, ::fi_mr_desc(inboxes_region_.get()), to.address,
                            to.memory + offset, to.memory_key, &piece->context);
    }
    if (result != 0) {
        if (piece != nullptr) pieces_.release(*piece);
        if (result != -FI_EAGAIN)
            lose_out_of_reach(peer,
                              fmt::format("libfabric ({}): fi_write failed: {}", provider_, why(result)));
        return false;
    }
    if (piece == nullptr)
        sent_silently(peer);
    else
        ++sends_;
    // As a send of this size, which is copied.
    if (message != nullptr) complete_part(*message, nullptr);
    return true;
}

bool OfiFabric::retry() {
    bool moved = retry(waiting_receives_);
    // A failure may take peers out of their groups, but not out of this list.
    for (std::size_t i = 0; i < waiting_peers_.size();) {
        PeerState& peer = peer_of(waiting_peers_[i]);
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

bool OfiFabric::retry(std::deque<Piece*>& waiting) {
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
        // A piece that has failed was abandoned, but is still first here: the next round frees it.
        if (posted == Posted::yes) waiting.pop_front();
        moved = true;
    }
    return moved;
}

bool OfiFabric::step() {
    fi_cq_msg_entry entries[max_completions_of_step];
    const ssize_t count = ::fi_cq_read(endpoint_->completions(), entries, max_completions_of_step);
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

void OfiFabric::complete(Piece& piece, std::size_t bytes) {
    if (!piece.receive) --sends_;
    FabricMessage* message = piece.message;
    if (message != nullptr && piece.receive && bytes != piece.bytes) {
        expects(*message, bytes + (message->bytes - piece.bytes));
    } else if (message != nullptr) {
        if (piece.receive && piece.span.bounce != nullptr) std::memcpy(piece.data, piece.span.data, bytes);
        settle(piece);
    }
    free(piece);
}

// The message does not need the piece any more.
void OfiFabric::settle(Piece& piece) {
    complete_part(*std::exchange(piece.message, nullptr), &piece);
}

void OfiFabric::free(Piece& piece) {
    registration_->release(piece.span);
    piece.message = nullptr;
    pieces_.release(piece);
}

bool OfiFabric::take_error() {
    fi_cq_err_entry error{};
    fid_cq* completions = endpoint_->completions();
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
    FabricMessage* message = piece->message;
    if (error.err == FI_ECANCELED) {
        if (message != nullptr)
            fail(*message, ErrorCode::link,
                 fmt::format("libfabric ({}) has cancelled a transfer", provider_));
    } else if (error.err == FI_ETRUNC && piece->receive) {
        if (message != nullptr) fail_too_long(*message);
    } else {
        lose_out_of_reach(piece->peer, fmt::format("libfabric ({}): a {} it failed: {}", provider_,
                                                   piece->receive ? "receive from" : "send to", reason));
    }
    free(*piece);
    return true;
}

// A receive that has begun, and a send, still go on to their end.
void OfiFabric::abandon(void* part) {
    auto& piece = *static_cast<Piece*>(part);
    piece.message = nullptr;
    if (piece.receive) ::fi_cancel(&endpoint_->endpoint()->fid, &piece.context);
}

}  // namespace lapwing::ofi
