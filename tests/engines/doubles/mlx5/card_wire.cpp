// A card whose messages real queue pairs move.
#include "engines/doubles/mlx5/card_state.hpp"

#include <algorithm>

namespace lapwing::mlx5_double {

// Passes posted receives to the device, as many as it takes, and collects its completions.
Round Card::exchange_with_wire() {
    Round round = Round::idle;
    for (Pair* const pair : order_) {
        if (pair->state != Pair::State::connected || pair->stopping) continue;
        while (pair->on_wire.size() < Wire::max_messages && claim_receive(*pair)) {
            pair->has_receive = false;
            pair->on_wire.push_back(pair->receive_index);
            const Span& span = pair->receive;
            const bool known =
                span.key == end_of_receive || local(span.key, span.address, span.bytes) != nullptr;
            if (!known) {
                refuse(*pair, pair->receive_index, Refusal::memory_key, "of a receive");
                pair->stopping = true;
                wire_->fail(pair->number);
                break;
            }
            wire_->receive(pair->number, span, pair->receive_index);
            round = Round::moved;
        }
    }
    while (const auto done = wire_->next()) {
        round = Round::moved;
        const auto found = pairs_.find(done->pair);
        if (found == pairs_.end() || found->second->state == Pair::State::failed) continue;
        done->received ? take_received(*found->second, *done) : take_sent(*found->second, *done);
    }
    const auto busy = [](const Pair* pair) {
        return pair->state == Pair::State::connected && (!pair->on_wire.empty() || !pair->messages.empty());
    };
    return std::any_of(order_.begin(), order_.end(), busy) ? more(round, Round::held) : round;
}

void Card::take_sent(Pair& pair, const Wire::Done& done) {
    const auto pending = std::find_if(pair.pending.begin(), pair.pending.end(),
                                      [&](const Pending& one) { return one.serial == done.id; });
    if (pending == pair.pending.end()) return;
    pending->done = true;
    std::erase_if(pair.messages, [&](const Message& one) { return one.serial == done.id; });
    if (done.syndrome == 0) return;
    pending->syndrome = done.syndrome;
    pending->refusal = Refusal::remote_access;
    pair.stopping = true;
}

void Card::take_received(Pair& pair, const Wire::Done& done) {
    std::erase(pair.on_wire, static_cast<std::uint16_t>(done.id));
    Received received;
    received.opcode = done.opcode;
    received.index = static_cast<std::uint16_t>(done.id);
    received.immediate = done.immediate;
    received.bytes = done.bytes;
    received.syndrome = done.syndrome;
    if (done.syndrome != 0) {
        received.refusal =
            done.syndrome == local_length ? Refusal::receive_too_short : Refusal::remote_access;
        pair.stopping = true;
    }
    pair.done.push_back(received);
}

}  // namespace lapwing::mlx5_double
