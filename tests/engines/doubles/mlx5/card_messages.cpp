// How a card sends messages to others and takes theirs.
#include "engines/doubles/mlx5/card_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lapwing::mlx5_double {

// Pieces of messages, in order. Sent bytes are read and sent again when the receiver asks.
Round Card::transmit(Pair& pair) {
    if (pair.state != Pair::State::connected) return Round::idle;
    if (pair.hold > 0) {
        --pair.hold;
        return Round::held;
    }
    if (pair.to_send >= pair.messages.size()) {
        if (pair.messages.empty()) return Round::idle;
        if (++pair.silent % 64 != 0 || !network_->gone(pair.peer_card)) return Round::idle;
        Packet lost;
        lost.kind = PacketKind::refused;
        lost.syndrome = retries_exceeded;
        lost.message = pair.messages.front().number;
        take_answer(pair, lost);
        return Round::moved;
    }
    Message& message = pair.messages[pair.to_send];
    const Request& request = message.request;
    Packet packet;
    packet.opcode = request.control.opcode;
    packet.from_card = card_;
    packet.from_pair = pair.number;
    packet.to_pair = pair.peer_pair;
    packet.message = message.number;
    packet.immediate = rules_.fault == Fault::immediate_lost ? 0 : request.control.immediate;
    packet.remote_key = request.remote_key;
    packet.remote_address = request.remote_address;
    packet.offset = message.sent;
    packet.bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(message.max_bytes, request.bytes - message.sent));
    packet.last = packet.offset + packet.bytes == request.bytes;
    std::vector<std::byte> payload;
    if (!request.inline_data.empty()) {
        const std::byte* const begin = request.inline_data.data() + packet.offset;
        payload.assign(begin, begin + packet.bytes);
    }
    std::uint64_t skipped = 0;
    for (const Span& span : request.spans) {
        const std::uint64_t begin = std::max(packet.offset + payload.size(), skipped);
        const std::uint64_t end = std::min(packet.offset + packet.bytes, skipped + span.bytes);
        if (begin < end) {
            const std::byte* const memory = local(span.key, span.address + (begin - skipped), end - begin);
            if (memory == nullptr) {  // deregistered while it is sent
                refuse(pair, request.control.index, Refusal::memory_key, "while it was sent");
                Packet lost;
                lost.kind = PacketKind::refused;
                lost.syndrome = local_protection;
                lost.message = message.number;
                take_answer(pair, lost);
                return Round::moved;
            }
            payload.insert(payload.end(), memory, memory + (end - begin));
        }
        skipped += span.bytes;
    }
    if (!network_->send(pair.peer_card, packet, payload)) return Round::held;
    message.sent += packet.bytes;
    if (packet.last) {
        message.all_sent = true;
        ++pair.to_send;
        pair.silent = 0;
    }
    return Round::moved;
}

void Card::take_answer(Pair& pair, const Packet& packet) {
    const auto behind = [&](std::uint32_t message) {
        return static_cast<std::int32_t>(message - packet.message) < 0;
    };
    const auto pending_of = [&](const Message& message) {
        return std::find_if(pair.pending.begin(), pair.pending.end(),
                            [&](const Pending& one) { return one.serial == message.serial; });
    };
    while (!pair.messages.empty()) {
        const Message& first = pair.messages.front();
        const bool acknowledged =
            packet.kind == PacketKind::acknowledgement
                ? !behind(packet.message) && static_cast<std::int32_t>(first.number - packet.message) <= 0
                : behind(first.number);
        if (!acknowledged) break;
        pending_of(first)->done = true;
        pair.messages.pop_front();
        if (pair.to_send > 0) --pair.to_send;
    }
    pair.silent = 0;
    if (packet.kind == PacketKind::acknowledgement || pair.messages.empty()) return;
    if (pair.messages.front().number != packet.message) return;
    if (packet.kind == PacketKind::not_ready) {
        for (Message& message : pair.messages) message.sent = 0;
        pair.messages.front().sent = packet.offset;
        pair.to_send = 0;
        pair.hold = 1 + static_cast<unsigned>(random_() % (1 + 8 * rules_.delay));
        return;
    }
    const auto failed = pending_of(pair.messages.front());
    failed->done = true;
    failed->syndrome = packet.syndrome;
    failed->refusal = Refusal::remote_access;
    pair.messages.clear();
    pair.to_send = 0;
    pair.stopping = true;
}

void Card::answer(Pair& pair, PacketKind kind, std::uint32_t message, std::uint8_t syndrome,
                  std::uint64_t offset) {
    Packet packet;
    packet.kind = kind;
    packet.from_card = card_;
    packet.from_pair = pair.number;
    packet.to_pair = pair.peer_pair;
    packet.message = message;
    packet.syndrome = syndrome;
    packet.offset = offset;
    pair.answers.push_back(packet);
}

std::uint16_t Card::receives_posted(const Pair& pair) const {
    if (pair.rings.receive == nullptr) return 0;
    auto posted = static_cast<std::uint16_t>(read_record(pair.rings.record, receive_word));
    const std::uint16_t count = distance(pair.receive_consumed, posted);
    if (!pair.rings.managed_receives || rules_.fault == Fault::receive_enable_not_needed) return count;
    const std::uint16_t enabled = distance(pair.receive_consumed, pair.receive_limit);
    return enabled >= half_of_indices ? std::uint16_t{0} : std::min(count, enabled);
}

bool Card::claim_receive(Pair& pair) {
    if (pair.has_receive) return true;
    if (receives_posted(pair) == 0) return false;
    pair.has_receive = true;
    pair.receive_index = pair.receive_consumed++;
    const std::byte* const entry =
        pair.rings.receive +
        std::size_t{pair.receive_index & (pair.rings.receive_entries - 1)} * segment_bytes;
    pair.receive = read_data_segment({entry, segment_bytes});
    return true;
}

// Both ends fail.
void Card::refuse_message(Pair& pair, Refusal refusal, std::uint8_t own_syndrome,
                          std::uint8_t peers_syndrome) {
    refuse(pair, pair.receive_index, refusal, "of a message that came");
    answer(pair, PacketKind::refused, pair.expected, peers_syndrome);
    if (own_syndrome != 0) {
        Received failed;
        failed.index = pair.receive_index;
        failed.syndrome = own_syndrome;
        failed.refusal = refusal;
        pair.done.push_back(failed);
    }
    pair.has_receive = false;
    pair.stopping = true;
}

void Card::take(Pair& pair, const Packet& packet, const std::vector<std::byte>& payload) {
    if (pair.state == Pair::State::unconnected) {
        pair.peer_card = packet.from_card;  // for the answer only
        pair.peer_pair = packet.from_pair;
        if (packet.offset == 0) answer(pair, PacketKind::not_ready, packet.message);
        return;
    }
    if (packet.from_card != pair.peer_card || packet.from_pair != pair.peer_pair) return;
    if (pair.state == Pair::State::failed || pair.stopping)
        return answer(pair, PacketKind::refused, packet.message, retries_exceeded);
    if (static_cast<std::int32_t>(packet.message - pair.expected) < 0)
        return answer(pair, PacketKind::acknowledgement, pair.expected - 1);
    if (packet.message != pair.expected || packet.offset != pair.received) return;
    const bool sent = packet.opcode == send || packet.opcode == send_immediate;
    const bool entry_now = sent ? packet.offset == 0 : packet.last && needs_receive(packet.opcode);
    // A missing receive is not the only reason for a retry.
    const bool moody = rules_.delay > 0 && chance(32);
    if (entry_now && !pair.has_receive && pair.rings.receive != nullptr &&
        distance(pair.receive_consumed, static_cast<std::uint16_t>(read_record(
                                            pair.rings.record, receive_word))) > pair.rings.receive_entries)
        return refuse_message(pair, Refusal::queue_overflow, local_operation, remote_operation);
    // Earlier pieces of a write have been written, and are not sent again.
    if ((packet.offset == 0 && moody) || (entry_now && !claim_receive(pair)))
        return answer(pair, PacketKind::not_ready, packet.message, 0, packet.offset);
    std::byte* to = nullptr;
    if (sent) {
        const bool empty = pair.receive.key == end_of_receive;
        const std::uint64_t room = empty ? 0 : pair.receive.bytes;
        if (!empty && (room == 0 || local(pair.receive.key, pair.receive.address, room) == nullptr))
            return refuse_message(pair, Refusal::memory_key, local_protection, remote_operation);
        if (packet.offset + packet.bytes > room && packet.bytes > 0)
            return refuse_message(pair, Refusal::receive_too_short, local_length, remote_invalid);
        to = reinterpret_cast<std::byte*>(pair.receive.address + packet.offset);
    } else if (packet.bytes > 0) {
        to = remote(packet.remote_key, packet.remote_address + packet.offset, packet.bytes);
        if (to == nullptr) return refuse_message(pair, Refusal::remote_access, 0, remote_denied);
    }
    if (packet.bytes > 0) {
        if (rules_.fault == Fault::completion_before_data) {
            pair.late.push_back({to, payload, 400});
        } else if (packet.bytes == sizeof(std::uint64_t) &&
                   reinterpret_cast<std::uintptr_t>(to) % sizeof(std::uint64_t) == 0) {
            std::uint64_t word = 0;  // in one store, for concurrent readers
            std::memcpy(&word, payload.data(), sizeof word);
            __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
        } else {
            std::memcpy(to, payload.data(), packet.bytes);
        }
    }
    pair.received += packet.bytes;
    if (!packet.last) return;
    if (needs_receive(packet.opcode)) {
        Received done;
        done.opcode = packet.opcode;
        done.index = pair.receive_index;
        done.immediate = packet.immediate;
        done.bytes = pair.received;
        pair.done.push_back(done);
        pair.has_receive = false;
    }
    answer(pair, PacketKind::acknowledgement, pair.expected++);
    pair.received = 0;
}

Round Card::receive(Pair& pair) {
    Round round = Round::idle;
    while (!pair.answers.empty() && network_->send(pair.peer_card, pair.answers.front(), {})) {
        pair.answers.pop_front();
        round = Round::moved;
    }
    if (!pair.answers.empty()) round = more(round, Round::held);
    if (!pair.arrived.empty()) {
        const Pair::Arrived one = std::move(pair.arrived.front());
        pair.arrived.pop_front();
        one.packet.kind == PacketKind::data ? take(pair, one.packet, one.payload)
                                            : take_answer(pair, one.packet);
        round = Round::moved;
    }
    for (Pair::Late& late : pair.late) --late.rounds;
    while (!pair.late.empty() && pair.late.front().rounds <= 0) {
        std::memcpy(pair.late.front().to, pair.late.front().bytes.data(), pair.late.front().bytes.size());
        pair.late.pop_front();
    }
    return pair.late.empty() ? round : more(round, Round::held);
}

}  // namespace lapwing::mlx5_double
