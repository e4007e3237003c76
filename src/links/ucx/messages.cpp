// Which receive meets which message.
#include <algorithm>
#include <cstring>
#include <utility>

#include "links/ucx/fabric.hpp"

namespace lapwing::ucx {

void UcxFabric::begin(FabricMessage& message) {
    // A rank that only receives connects, too: UCX reports the end of a peer only for an endpoint.
    if (!connect(message.peer)) return;
    Request& request = requests_.take();
    request = {this, &message, {}};
    message.parts.push_back(&request);
    if (message.receive)
        begin_receive(message, request);
    else
        begin_send(message, request);
}

void UcxFabric::begin_send(FabricMessage& message, Request& request) {
    RankState& rank = at(message.peer);
    request.header = {key_, message.group->number, ++rank.sent, static_cast<std::uint32_t>(self_),
                      message.channel};
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = &request;
    param.cb.send = finished_send;
    void* const posted = ucp_.ucp_am_send_nbx(rank.endpoint, message_id, &request.header,
                                              sizeof request.header, message.data, message.bytes, &param);
    if (!UCS_PTR_IS_PTR(posted)) complete(request, posted == nullptr ? UCS_OK : UCS_PTR_STATUS(posted));
}

void UcxFabric::finished_send(void* library, ucs_status_t status, void* sent) {
    auto& request = *static_cast<Request*>(sent);
    request.fabric->ucp_.ucp_request_free(library);
    request.fabric->complete(request, status);
}

void UcxFabric::begin_receive(FabricMessage& message, Request& request) {
    RankState& rank = at(message.peer);
    const auto early = std::ranges::find_if(rank.early, [&](const Arrival& arrival) {
        return arrival.header.group == message.group->number && arrival.header.channel == message.channel;
    });
    if (early == rank.early.end()) {
        rank.posted.push_back(&request);
        return;
    }
    Arrival arrival = std::move(*early);
    rank.early.erase(early);
    fetch(request, arrival);
    drop(arrival);
}

bool UcxFabric::put(int peer, const std::byte* bytes, std::uint64_t offset, std::size_t count,
                    FabricMessage* message) {
    if (!connect(peer)) return false;
    const RankState& rank = at(peer);
    Request& request = requests_.take();
    request = {this, message, {}};
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = &request;
    param.cb.send = finished_send;
    void* const posted =
        ucp_.ucp_put_nbx(rank.endpoint, bytes, count, rank.memory + offset, rank.key, &param);
    if (UCS_PTR_IS_ERR(posted)) {
        requests_.release(request);
        lose_by(peer, UCS_PTR_STATUS(posted));
        return false;
    }
    // Until then the write may need this process's progress, as the first to a peer does, which connects.
    if (message != nullptr) message->parts.push_back(&request);
    if (posted == nullptr) complete(request, UCS_OK);
    return true;
}

// UCX does not refer to the request any more.
void UcxFabric::complete(Request& request, ucs_status_t status) {
    FabricMessage* const message = request.message;
    requests_.release(request);
    if (message == nullptr) return;
    if (status == UCS_OK) return complete_part(*message, &request);
    std::erase(message->parts, &request);
    lose_by(message->peer, status);
}

// UCX finishes a send, and a receive whose data it fetches, by itself.
void UcxFabric::abandon(void* part) {
    auto& request = *static_cast<Request*>(part);
    auto& posted = at(request.message->peer).posted;
    request.message = nullptr;
    const auto found = std::ranges::find(posted, &request);
    if (found == posted.end()) return;
    posted.erase(found);
    requests_.release(request);
}

// Called by UCX inside progress.
ucs_status_t UcxFabric::arrived(const Header& header, void* data, std::uint64_t bytes, std::uint64_t flags) {
    // A message of a stranger, or of another job.
    if (header.key != key_ || header.sender >= ranks_.size() || closing_) return UCS_OK;
    RankState& rank = ranks_[header.sender];
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
    // UCX keeps data that are being fetched until it has them all.
    return arrival.rendezvous && arrival.data == nullptr ? UCS_INPROGRESS : UCS_OK;
}

bool UcxFabric::deliver(Arrival& arrival) {
    auto& posted = ranks_[arrival.header.sender].posted;
    const auto found = std::ranges::find_if(posted, [&](const Request* request) {
        return request->message->group->number == arrival.header.group &&
               request->message->channel == arrival.header.channel;
    });
    if (found == posted.end()) return false;
    Request& request = **found;
    posted.erase(found);
    fetch(request, arrival);
    return true;
}

// Copies the data to the receive's buffer, or lets UCX fetch them.
void UcxFabric::fetch(Request& request, Arrival& arrival) {
    FabricMessage& message = *request.message;
    if (!expects(message, arrival.bytes)) return requests_.release(request);
    if (!arrival.rendezvous) {
        const void* const data = arrival.copy != nullptr ? arrival.copy.get() : arrival.data;
        if (arrival.bytes > 0) std::memcpy(message.data, data, arrival.bytes);
        return complete(request, UCS_OK);
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = &request;
    param.cb.recv_am = [](void* library, ucs_status_t status, std::size_t, void* received) {
        auto& own = *static_cast<Request*>(received);
        own.fabric->ucp_.ucp_request_free(library);
        own.fabric->complete(own, status);
    };
    void* const posted = ucp_.ucp_am_recv_data_nbx(worker_, std::exchange(arrival.data, nullptr),
                                                   message.data, arrival.bytes, &param);
    if (!UCS_PTR_IS_PTR(posted)) complete(request, posted == nullptr ? UCS_OK : UCS_PTR_STATUS(posted));
}

// Releases what UCX keeps for the arrival.
void UcxFabric::drop(Arrival& arrival) {
    if (arrival.data != nullptr) ucp_.ucp_am_data_release(worker_, std::exchange(arrival.data, nullptr));
}

}  // namespace lapwing::ucx
