// What a card does with the entries of a send queue.
#include "engines/doubles/mlx5/card_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lapwing::mlx5_double {

// Copies the posted requests up to block `end`: later stores there have no effect.
void Card::fetch(Pair& pair, std::uint16_t end) {
    while (pair.fetched_to != end) {
        const std::uint16_t index = pair.fetched_to;
        const std::uint32_t mask = pair.rings.send_blocks - 1;
        const auto block = [&](std::uint32_t which) {
            return pair.rings.send + std::size_t{(index + which) & mask} * block_bytes;
        };
        const Control head = read_control({block(0), segment_bytes});
        Pair::Fetched one{index, std::max(head.blocks(), 1u), Refusal::none, {}};
        if (head.index != index && rules_.fault != Fault::index_not_checked) {
            one.refusal = Refusal::wrong_index;
        } else if (head.queue != pair.number) {
            one.refusal = Refusal::wrong_queue;
        } else if (head.segments == 0 || one.blocks > distance(index, end)) {
            one.refusal = Refusal::wrong_size;
        }
        if (one.refusal != Refusal::none) one.blocks = 1;
        for (std::uint32_t which = 0; which < one.blocks; ++which)
            one.bytes.insert(one.bytes.end(), block(which), block(which) + block_bytes);
        if (one.refusal == Refusal::none) one.bytes.resize(head.segments * segment_bytes);
        pair.fetched_to = static_cast<std::uint16_t>(index + one.blocks);
        pair.fetched.push_back(std::move(one));
        // Late: each when it runs.
        if (end == pair.limit && pair.fetched.size() == 1 && rules_.delay > 0 && chance(8)) break;
    }
}

void Card::fail(Pair& pair, std::uint16_t index, std::uint32_t blocks, std::uint8_t opcode, Refusal refusal,
                const std::string& more) {
    refuse(pair, index, refusal, more);
    Pending failed;
    failed.serial = pair.next_serial++;
    failed.index = index;
    failed.blocks = blocks;
    failed.opcode = opcode;
    failed.done = true;
    failed.syndrome = refusal == Refusal::memory_key ? local_protection : local_operation;
    failed.refusal = refusal;
    pair.pending.push_back(failed);
    pair.stopping = true;
}

Round Card::execute(Pair& pair) {
    if (pair.state != Pair::State::connected || pair.stopping) return Round::idle;
    if (pair.watched) {
        const auto lies_there = [&] {
            const std::byte* at =
                pair.rings.send + std::size_t{pair.limit & (pair.rings.send_blocks - 1)} * block_bytes;
            const Control head = read_control({at, segment_bytes});
            return head.index == pair.limit && head.queue == pair.number && head.segments > 0;
        };
        while (distance(pair.retired, pair.limit) < pair.rings.send_blocks && lies_there()) ++pair.limit;
    }
    if (pair.consumed == pair.limit) return Round::idle;
    if (pair.fetched.empty()) fetch(pair, pair.limit);
    if (rules_.fault == Fault::order_lost && pair.fetched.size() > 1 &&
        is_message(read_control(pair.fetched[0].bytes).opcode) &&
        is_message(read_control(pair.fetched[1].bytes).opcode))
        std::swap(pair.fetched[0], pair.fetched[1]);
    const Pair::Fetched& next = pair.fetched.front();
    Request request;
    Refusal refusal = next.refusal;
    if (refusal == Refusal::none) refusal = read_request(next.bytes, request);
    const std::uint8_t opcode = request.control.opcode;
    if (refusal == Refusal::none) {
        const bool management = opcode == wait || opcode == send_enable || opcode == receive_enable;
        if (management && !pair.rings.master && (rules_.strict || opcode != wait)) {
            refusal = Refusal::not_master;
        } else if (opcode == wait) {
            if (!wait_is_over(request, refusal) && refusal == Refusal::none)
                return request.control.modifier == 1 ? Round::held : Round::idle;
        } else if (opcode == send_enable) {
            refusal = enable_sends(request);
        } else if (opcode == receive_enable) {
            refusal = enable_receives(request);
        } else if (is_message(opcode)) {
            if (pair.messages.size() >= max_messages) return Round::idle;
            if (start_message(pair, request, refusal)) {
                ++requests_;
                pair.consumed = static_cast<std::uint16_t>(pair.consumed + next.blocks);
                pair.fetched.pop_front();
                return Round::moved;
            }
        }
    }
    if (refusal != Refusal::none) {
        fail(pair, next.index, next.blocks, opcode, refusal, print(request));
    } else {
        Pending done;
        done.serial = pair.next_serial++;
        done.index = next.index;
        done.blocks = next.blocks;
        done.opcode = opcode;
        done.signalled = request.control.signalled();
        done.done = true;
        pair.pending.push_back(done);
        ++requests_;
    }
    pair.consumed = static_cast<std::uint16_t>(pair.consumed + next.blocks);
    pair.fetched.pop_front();
    return Round::moved;
}

bool Card::start_message(Pair& pair, const Request& request, Refusal& refusal) {
    for (const Span& span : request.spans) {
        if (local(span.key, span.address, span.bytes) == nullptr) {
            refusal = Refusal::memory_key;
            return false;
        }
    }
    Message message;
    message.number = pair.next_message++;
    message.serial = pair.next_serial++;
    message.request = request;
    message.max_bytes = rules_.delay == 0 ? 4096 : 64u << 2 * (random_() % 4);
    Pending pending;
    pending.serial = message.serial;
    pending.index = request.control.index;
    pending.blocks = request.control.blocks();
    pending.opcode = request.control.opcode;
    pending.signalled = request.control.signalled();
    if (wire_ != nullptr) wire_->send(pair.number, request, message.serial);
    pair.pending.push_back(pending);
    pair.messages.push_back(std::move(message));
    return true;
}

// A WAIT names the index of the completion that it waits for, in 24 bits and cyclically: pcx waits for
// cmpl_cnt - 1; DPDK's txpp for the index of the clock queue's entry. Entries that the card has written
// count, read or not.
bool Card::wait_is_over(const Request& request, Refusal& refusal) const {
    if (request.control.modifier == 1) {
        const DataWait& wait = request.data_wait;
        if (!rules_.wait_on_data) {
            refusal = Refusal::unsupported;
            return false;
        }
        const std::byte* const memory = local(wait.key, wait.address, sizeof(std::uint64_t));
        if (memory == nullptr) {
            refusal = Refusal::memory_key;
            return false;
        }
        std::uint64_t value =
            __atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory), __ATOMIC_ACQUIRE);
        std::byte bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        if (holds(wait, read64(bytes))) return true;
        if (wait.on_failure == 1) refusal = Refusal::wait_failed;
        return false;
    }
    const auto found = completions_.find(request.object);
    if (found == completions_.end()) {
        refusal = Refusal::unknown_object;
        return false;
    }
    const Completions& queue = *found->second;
    std::uint32_t index = request.max_index;
    std::uint32_t mask = completion_mask;
    std::uint32_t counted = queue.counted;
    switch (rules_.fault) {
        case Fault::wait_one_early:
            --index;
            break;
        case Fault::wait_one_late:
            ++index;
            break;
        case Fault::wait_never_blocks:
            return true;
        case Fault::wait_in_16_bits:
            mask = 0xffff;
            break;
        case Fault::wait_forgets_overrun: {
            // Only what has not been overwritten.
            const std::uint32_t since = queue.total > queue.ring.entries ? queue.ring.entries : queue.total;
            counted = rules_.first_completion + since;
            break;
        }
        default:
            break;
    }
    return ((counted - index - 1) & mask) <= mask / 2;
}

// max_index is the index after the last block that may run: pcx enables slave_qp->write_cnt, DPDK's gcm its
// pi.
Refusal Card::enable_sends(const Request& request) {
    const auto found = pairs_.find(request.object);
    if (found == pairs_.end()) return Refusal::unknown_object;
    Pair& slave = *found->second;
    if (!slave.rings.managed_sends) return Refusal::not_managed;
    auto limit = static_cast<std::uint16_t>(request.max_index);
    switch (rules_.fault) {
        case Fault::enable_one_more:
            ++limit;
            break;
        case Fault::enable_is_relative:
            limit = static_cast<std::uint16_t>(slave.limit + limit);
            break;
        case Fault::enable_once:
            if (slave.enabled_once) return Refusal::none;
            break;
        default:
            break;
    }
    const std::uint16_t ahead = distance(slave.limit, limit);
    if (ahead >= half_of_indices)  // behind: it was enabled before, and that is harmless
        return distance(limit, slave.limit) <= slave.rings.send_blocks ? Refusal::none : Refusal::too_far;
    if (distance(slave.retired, limit) > slave.rings.send_blocks) return Refusal::beyond_posted;
    // Software rings no bell for such a queue: only the index of a request shows that it is posted.
    for (std::uint16_t index = slave.limit; index != limit;) {
        const std::byte* const block =
            slave.rings.send + std::size_t{index & (slave.rings.send_blocks - 1)} * block_bytes;
        const Control head = read_control({block, segment_bytes});
        if (head.index != index && rules_.fault != Fault::enable_one_more) return Refusal::beyond_posted;
        const std::uint32_t blocks = std::clamp<std::uint32_t>(head.blocks(), 1, distance(index, limit));
        index = static_cast<std::uint16_t>(index + blocks);
    }
    slave.enabled_once = slave.enabled_once || ahead > 0;
    slave.limit = limit;
    if (rules_.delay == 0 || !chance(4)) fetch(slave, limit);
    return Refusal::none;
}

Refusal Card::enable_receives(const Request& request) {
    const auto found = pairs_.find(request.object);
    if (found == pairs_.end()) return Refusal::unknown_object;
    Pair& slave = *found->second;
    if (!slave.rings.managed_receives) return Refusal::not_managed;
    const auto limit = static_cast<std::uint16_t>(request.max_index);
    const std::uint16_t ahead = distance(slave.receive_limit, limit);
    if (ahead >= half_of_indices)
        return distance(limit, slave.receive_limit) <= slave.rings.receive_entries ? Refusal::none
                                                                                   : Refusal::too_far;
    const auto posted = static_cast<std::uint16_t>(read_record(slave.rings.record, receive_word));
    // pcx enables 0x6fff once and posts less: strict about it only where asked.
    if (rules_.strict && distance(slave.receive_consumed, limit) > distance(slave.receive_consumed, posted))
        return Refusal::beyond_posted;
    slave.receive_limit = limit;
    return Refusal::none;
}

}  // namespace lapwing::mlx5_double
