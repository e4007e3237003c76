// Which receive meets which message, and the links of groups.
#if __has_include(<ucp/api/ucp.h>)

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/short_message.hpp"
#include "links/ucx/fabric.hpp"

namespace lapwing::ucx {

UcxFabric::Message& UcxFabric::take(int peer) {
    Message& message = messages_.take();
    message = {};
    message.fabric = this;
    message.peer = peer;
    ++on_their_way_;
    ++ranks_[static_cast<std::size_t>(peer)].waiting;
    return message;
}

void UcxFabric::give_back(Message& message) {
    messages_.release(message);
    --on_their_way_;
    --ranks_[static_cast<std::size_t>(message.peer)].waiting;
}

void UcxFabric::complete(Message& message, ucs_status_t status) {
    message.complete = true;
    message.status = status;
    ++completed_;
}

void UcxFabric::send(int peer, std::uint64_t group, std::uint32_t channel, const std::byte* data,
                     std::uint64_t bytes, Link::Transfer& transfer) {
    const auto lock = hold();
    check_usable();
    connect(peer);
    RankState& rank = ranks_[static_cast<std::size_t>(peer)];
    if (!rank.lost.empty()) refuse(peer);
    Message& message = take(peer);
    message.header = {key_, group, ++rank.sent, static_cast<std::uint32_t>(self_), channel};
    message.bytes = bytes;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = &message;
    param.cb.send = [](void* request, ucs_status_t status, void* sent) {
        auto& own = *static_cast<Message*>(sent);
        own.fabric->complete(own, status);
        own.fabric->ucp_.ucp_request_free(request);
    };
    void* const request = ucp_.ucp_am_send_nbx(rank.endpoint, message_id, &message.header,
                                               sizeof message.header, data, bytes, &param);
    transfer = {};
    if (UCS_PTR_IS_PTR(request)) {
        transfer.handle = reinterpret_cast<std::uintptr_t>(&message);
        transfer.active = true;
        return;
    }
    give_back(message);
    if (request == nullptr) return;
    lose(peer, ucp_.ucs_status_string(UCS_PTR_STATUS(request)));
    refuse(peer);
}

void UcxFabric::recv(int peer, std::uint64_t group, std::uint32_t channel, std::byte* data,
                     std::uint64_t bytes, Link::Transfer& transfer) {
    const auto lock = hold();
    check_usable();
    // Also by who only receives: without an endpoint nobody would tell that the peer has ended.
    connect(peer);
    RankState& rank = ranks_[static_cast<std::size_t>(peer)];
    Message& message = take(peer);
    message.target = data;
    message.bytes = bytes;
    transfer = {};
    transfer.handle = reinterpret_cast<std::uintptr_t>(&message);
    transfer.active = true;
    const auto early = std::find_if(rank.early.begin(), rank.early.end(), [&](const Arrival& arrival) {
        return arrival.header.group == group && arrival.header.channel == channel;
    });
    if (early == rank.early.end()) {
        rank.posted.push_back({group, channel, &message});
        return;
    }
    Arrival arrival = std::move(*early);
    rank.early.erase(early);
    const std::uint64_t before = completed_;
    fetch(message, arrival);
    drop(arrival);
    // It is this caller's, and nobody's news.
    if (message.complete && !message.too_long && message.status == UCS_OK) {
        completed_ = before;
        give_back(message);
        transfer = {};
    }
}

bool UcxFabric::test(const std::vector<int>& members, Link::Transfer& transfer) {
    if (!transfer.active) return true;
    const auto lock = hold();
    Message& message = *reinterpret_cast<Message*>(transfer.handle);
    if (!message.complete) {
        const std::uint64_t before = completed_;
        // The progress thread may sleep since before there was anything to wait for.
        look_after_peers();
        ucp_.ucp_worker_progress(worker_);
        // No news for the progress thread: who tests knows.
        if (message.complete && completed_ == before + 1 && known_completed_ == before) ++known_completed_;
    }
    if (!message.complete) {
        check_usable();
        if (lost_ > 0) {
            for (const int member : members)
                if (!ranks_[static_cast<std::size_t>(member)].lost.empty()) refuse(member);
        }
        return false;
    }
    const Message ended = message;
    give_back(message);
    transfer = {};
    if (ended.too_long) {
        throw Error(
            ErrorCode::truncated,
            fmt::format("rank {} has sent more than the {} bytes that are expected: the arguments of a "
                        "collective differ, or its place in the order",
                        ended.peer, ended.bytes));
    }
    if (ended.status != UCS_OK) {
        lose(ended.peer, ucp_.ucs_status_string(ended.status));
        refuse(ended.peer);
    }
    return true;
}

// By UCX, inside progress.
ucs_status_t UcxFabric::arrived(const Header& header, void* data, std::uint64_t bytes, std::uint64_t flags) {
    // A stranger's, or one of another job's.
    if (header.key != key_ || header.sender >= ranks_.size() || closing_) return UCS_OK;
    RankState& rank = ranks_[header.sender];
    rank.silence.heard();
    if (header.number <= rank.received || rank.ahead.contains(header.number)) return UCS_OK;
    Arrival arrival;
    arrival.header = header;
    arrival.bytes = bytes;
    arrival.rendezvous = (flags & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    arrival.data = data;
    const bool may_keep = arrival.rendezvous || (flags & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    bool taken = false;
    if (header.number == rank.received + 1) {
        ++rank.received;
        taken = deliver(arrival);
    }
    if (!taken) {
        if (!may_keep) {
            arrival.copy.reset(new std::byte[bytes]);
            std::memcpy(arrival.copy.get(), data, bytes);
            arrival.data = nullptr;
        }
        if (header.number <= rank.received)
            rank.early.push_back(std::move(arrival));
        else
            rank.ahead.emplace(header.number, std::move(arrival));
        return may_keep ? UCS_INPROGRESS : UCS_OK;
    }
    for (auto next = rank.ahead.begin(); next != rank.ahead.end() && next->first == rank.received + 1;
         next = rank.ahead.begin()) {
        Arrival waiting = std::move(next->second);
        rank.ahead.erase(next);
        ++rank.received;
        if (deliver(waiting))
            drop(waiting);
        else
            rank.early.push_back(std::move(waiting));
    }
    // What is fetched is UCX's until it is complete.
    return arrival.rendezvous && arrival.data == nullptr ? UCS_INPROGRESS : UCS_OK;
}

bool UcxFabric::deliver(Arrival& arrival) {
    auto& posted = ranks_[arrival.header.sender].posted;
    const auto found = std::find_if(posted.begin(), posted.end(), [&](const RankState::Posted& receive) {
        return receive.group == arrival.header.group && receive.channel == arrival.header.channel;
    });
    if (found == posted.end()) return false;
    Message& message = *found->message;
    posted.erase(found);
    fetch(message, arrival);
    return true;
}

// Puts it into its place, or has UCX do so.
bool UcxFabric::fetch(Message& message, Arrival& arrival) {
    if (arrival.bytes > message.bytes) {
        message.too_long = true;
        complete(message, UCS_OK);
        return false;
    }
    if (!arrival.rendezvous) {
        const void* const data = arrival.copy != nullptr ? arrival.copy.get() : arrival.data;
        if (arrival.bytes > 0) std::memcpy(message.target, data, arrival.bytes);
        complete(message, UCS_OK);
        return true;
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = &message;
    param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* received) {
        auto& own = *static_cast<Message*>(received);
        own.fabric->complete(own, status);
        own.fabric->ucp_.ucp_request_free(request);
    };
    void* const request = ucp_.ucp_am_recv_data_nbx(worker_, std::exchange(arrival.data, nullptr),
                                                    message.target, arrival.bytes, &param);
    if (!UCS_PTR_IS_PTR(request)) complete(message, request == nullptr ? UCS_OK : UCS_PTR_STATUS(request));
    return true;
}

// Gives back what UCX has kept.
void UcxFabric::drop(Arrival& arrival) {
    if (arrival.data != nullptr) ucp_.ucp_am_data_release(worker_, std::exchange(arrival.data, nullptr));
}

// The link of one group.
class UcxLink final : public Link {
  public:
    UcxLink(UcxFabric& fabric, std::uint64_t group, std::vector<int> members)
        : fabric_(fabric), group_(group), members_(std::move(members)) {}

    const char* name() const override { return "ucx"; }
    bool any_thread() const override { return true; }
    bool ready() override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        fabric_.send(place(peer), group_, channel, data, bytes, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        fabric_.recv(place(peer), group_, channel, data, bytes, transfer);
    }
    bool sends_slowly(int, std::uint64_t bytes) const override {
        return !fabric_.rdma_ && bytes > max_short_bytes;
    }
    bool test(Transfer& transfer) override { return fabric_.test(members_, transfer); }
    void progress() override { fabric_.progress(); }

  private:
    int place(int peer) const { return members_[static_cast<std::size_t>(peer)]; }

    UcxFabric& fabric_;
    const std::uint64_t group_;
    const std::vector<int> members_;
};

std::unique_ptr<Link> UcxFabric::link(std::uint64_t group, std::vector<int> members) {
    return std::make_unique<UcxLink>(*this, group, std::move(members));
}

}  // namespace lapwing::ucx

#endif
