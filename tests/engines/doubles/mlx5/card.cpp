#include "engines/doubles/mlx5/card.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engines/doubles/mlx5/card_state.hpp"

namespace lapwing::mlx5_double {

Card::Card(std::shared_ptr<Network> network, const Rules& rules, std::unique_ptr<Wire> wire)
    : network_(std::move(network)),
      rules_(rules),
      wire_(std::move(wire)),
      card_(network_->join()),
      random_(rules.seed * 1000003 + card_) {}

Card::~Card() {
    for (Pair* const pair : order_) send_answers(*pair);
    network_->leave(card_);
}

// Messages that a program has seen arrive must not be reported as lost because the program ends at once.
void Card::send_answers(Pair& pair) {
    for (int tries = 0; !pair.answers.empty() && tries < 1000; ++tries) {
        if (network_->send(pair.peer_card, pair.answers.front(), {})) pair.answers.pop_front();
    }
}

bool Card::chance(unsigned in) {
    return in <= 1 || random_() % in == 0;
}

template <typename Queues>
std::uint32_t Card::new_number(const Queues& queues) {
    for (;;) {
        const std::uint32_t number = 0x40 + static_cast<std::uint32_t>(random_() % 0x3ff);
        const std::uint32_t wide = chance(2) ? number : number | 0xabc000;
        if (!queues.contains(wide)) return wide;
        const std::uint32_t any = static_cast<std::uint32_t>(random_()) & number_mask;
        if (any > 0x40 && !queues.contains(any)) return any;
    }
}

std::uint32_t Card::add_completion_queue(const CompletionRing& ring) {
    const std::lock_guard locked(lock_);
    auto queue = std::make_unique<Completions>();
    queue->number = new_number(completions_);
    queue->ring = ring;
    queue->produced = queue->counted = rules_.first_completion;
    return completions_.emplace(queue->number, std::move(queue)).first->first;
}

std::uint32_t Card::add_pair(const PairRings& rings) {
    const std::lock_guard locked(lock_);
    auto pair = std::make_unique<Pair>();
    pair->number = wire_ != nullptr ? wire_->add_pair() : new_number(pairs_);
    pair->rings = rings;
    pair->limit = pair->consumed = pair->retired = pair->fetched_to = rules_.first_send;
    pair->receive_consumed = pair->receive_limit = rules_.first_receive;
    pair->watched = rings.managed_sends && rules_.fault == Fault::enable_not_needed;
    pair->pace = rules_.delay == 0 ? 1 : 1u << random_() % (rules_.delay + 1);
    order_.push_back(pair.get());
    return pairs_.emplace(pair->number, std::move(pair)).first->first;
}

void Card::connect(std::uint32_t pair, std::uint32_t peer_card, std::uint32_t peer_pair) {
    const std::lock_guard locked(lock_);
    Pair& one = *pairs_.at(pair);
    if (wire_ != nullptr) wire_->connect(pair, peer_pair);
    one.peer_card = peer_card;
    one.peer_pair = peer_pair;
    one.state = Pair::State::connected;
    network_->notify();
}

void Card::remove_pair(std::uint32_t pair) {
    const std::lock_guard locked(lock_);
    const auto found = pairs_.find(pair);
    send_answers(*found->second);
    if (wire_ != nullptr) wire_->remove_pair(pair);
    std::erase(order_, found->second.get());
    pairs_.erase(found);
}

void Card::remove_completion_queue(std::uint32_t queue) {
    const std::lock_guard locked(lock_);
    completions_.erase(queue);
}

Card::Keys Card::add_memory(void* memory, std::size_t bytes) {
    const std::lock_guard locked(lock_);
    const auto fresh = [&] {
        std::uint32_t key = 0;
        do key = static_cast<std::uint32_t>(random_());
        while (key <= end_of_receive || memory_.contains(key) || remote_.contains(key));
        return key;
    };
    Memory one{static_cast<std::byte*>(memory), bytes, {}};
    if (wire_ != nullptr) {
        one.keys = wire_->add_memory(memory, bytes);
    } else {
        one.keys.local = fresh();
        do one.keys.remote = fresh();
        while (one.keys.remote == one.keys.local);
    }
    memory_.emplace(one.keys.local, one);
    remote_.emplace(one.keys.remote, one.keys.local);
    return one.keys;
}

void Card::remove_memory(std::uint32_t local_key) {
    const std::lock_guard locked(lock_);
    const auto found = memory_.find(local_key);
    if (found == memory_.end()) return;
    if (wire_ != nullptr) wire_->remove_memory(local_key);
    remote_.erase(found->second.keys.remote);
    memory_.erase(found);
}

std::byte* Card::local(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const {
    if (rules_.fault == Fault::key_not_checked) return reinterpret_cast<std::byte*>(address);
    const auto found = memory_.find(key);
    if (found == memory_.end()) return nullptr;
    const auto begin = reinterpret_cast<std::uint64_t>(found->second.begin);
    if (address < begin || bytes > found->second.bytes || address - begin > found->second.bytes - bytes)
        return nullptr;
    return reinterpret_cast<std::byte*>(address);
}

std::byte* Card::remote(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const {
    const auto found = remote_.find(key);
    if (rules_.fault == Fault::key_not_checked) return reinterpret_cast<std::byte*>(address);
    return found == remote_.end() ? nullptr : local(found->second, address, bytes);
}

void Card::refuse(const Pair& pair, std::uint16_t index, Refusal refusal, const std::string& more) {
    refusals_.push_back(fmt::format("queue pair {:#08x}, block {:#06x}: {}{}{}", pair.number, index,
                                    print(refusal), more.empty() ? "" : ": ", more));
}

std::vector<std::string> Card::refusals() const {
    const std::lock_guard locked(lock_);
    return refusals_;
}

std::string Card::describe() const {
    const std::lock_guard locked(lock_);
    std::string text;
    for (const auto& [number, pair] : pairs_) {
        Request next;
        if (!pair->fetched.empty()) static_cast<void>(read_request(pair->fetched.front().bytes, next));
        text += fmt::format(
            "card {} queue pair {:#x} to {:#x}, {}: sends {:#06x} retired, {:#06x} consumed, {:#06x} "
            "allowed; {} pending, "
            "{} on their way, next {}; receives {:#06x} consumed, {:#06x} posted, {} on the wire, {} done\n",
            card_, number, pair->peer_pair,
            pair->state == Pair::State::failed ? "failed"
            : pair->stopping                   ? "stopping"
                                               : "well",
            pair->retired, pair->consumed, pair->limit, pair->pending.size(), pair->messages.size(),
            pair->fetched.empty() ? "none" : print(next), pair->receive_consumed,
            read_record(pair->rings.record, receive_word) & 0xffff, pair->on_wire.size(), pair->done.size());
    }
    for (const auto& [number, queue] : completions_) {
        text += fmt::format("card {} completion queue {:#x}{}: {:#08x} written, {:#08x} read, {} entries\n",
                            card_, number, queue->failed ? ", failed" : "", queue->produced & completion_mask,
                            read_record(queue->ring.record, consumer_word) & completion_mask,
                            queue->ring.entries);
    }
    return text;
}

std::uint32_t Card::completions(std::uint32_t queue) const {
    const std::lock_guard locked(lock_);
    return completions_.at(queue)->total;
}

std::uint64_t Card::requests() const {
    const std::lock_guard locked(lock_);
    return requests_;
}

// A register of 8 bytes takes the first two words of a control segment. Mellanox pcx sends {producer << 8,
// number << 8}; DPDK and Linux the last entry's own words. The card then reads the doorbell record.
void Card::bell(std::uint32_t number, std::uint64_t value) {
    const std::lock_guard locked(lock_);
    const auto found = pairs_.find(number);
    if (found == pairs_.end()) return;
    Pair& pair = *found->second;
    std::byte words[sizeof value];
    std::memcpy(words, &value, sizeof value);
    std::byte segment[segment_bytes] = {};
    std::memcpy(segment, words, sizeof words);
    const Control rung = read_control(segment);
    network_->notify();
    if (pair.state == Pair::State::failed || pair.stopping) return;
    if (pair.rings.managed_sends) return fail(pair, pair.limit, 1, 0, Refusal::bell_of_managed);
    if (pair.state == Pair::State::unconnected)
        return refuse(pair, rung.index, Refusal::unsupported, "bell of a queue pair that is not connected");
    if (rung.queue != pair.number)
        return fail(pair, pair.limit, 1, rung.opcode, Refusal::wrong_queue, "in the bell");
    std::uint16_t producer = static_cast<std::uint16_t>(read_record(pair.rings.record, send_word));
    const std::byte* const last =
        pair.rings.send + std::size_t{rung.index & (pair.rings.send_blocks - 1)} * block_bytes;
    const Control entry = read_control({last, segment_bytes});
    const std::uint16_t after = static_cast<std::uint16_t>(rung.index + entry.blocks());
    const bool says_producer = rung.segments == 0 && rung.opcode == 0;
    if (rules_.fault == Fault::record_not_needed) {
        producer = says_producer ? rung.index : after;
    } else if ((says_producer ? rung.index : after) != producer) {
        return fail(pair, pair.limit, 1, rung.opcode, Refusal::bell_before_record,
                    fmt::format("the bell says {:#06x}, the record {:#06x}", rung.index, producer));
    }
    if (distance(pair.retired, producer) > pair.rings.send_blocks)
        return fail(pair, pair.limit, 1, rung.opcode, Refusal::queue_overflow,
                    fmt::format("{} blocks posted in a ring of {}", distance(pair.retired, producer),
                                pair.rings.send_blocks));
    pair.limit = producer;
    if (rules_.delay == 0 || !chance(4)) fetch(pair, producer);
}

void Card::arm(std::uint32_t number, std::uint32_t consumed) {
    const std::lock_guard locked(lock_);
    Completions& queue = *completions_.at(number);
    queue.armed = ((queue.produced - consumed) & completion_mask) == 0;
    if (!queue.armed && queue.ring.event >= 0) {
        const std::uint64_t one = 1;
        static_cast<void>(!write(queue.ring.event, &one, sizeof one));
    }
}

void Card::write_completion(std::uint32_t number, const std::byte* entry, std::uint8_t opcode) {
    const auto found = completions_.find(number);
    if (found == completions_.end() || found->second->failed) return;
    Completions& queue = *found->second;
    const std::uint32_t index = queue.produced & completion_mask;
    const std::uint32_t read = read_record(queue.ring.record, consumer_word) & completion_mask;
    if (!queue.ring.ignore_overrun && ((index - read) & completion_mask) >= queue.ring.entries &&
        rules_.fault != Fault::overrun_ignored) {
        queue.failed = true;
        refusals_.push_back(
            fmt::format("completion queue {:#08x}: {}", number, print(Refusal::completions_overrun)));
        return;
    }
    // The owner bit turns each time around: MLX5_CQE_OWNER_MASK; Linux hw/mlx5/cq.c get_sw_cqe compares it
    // with the bit of the index above the ring.
    bool owner = (index & queue.ring.entries) != 0;
    if (rules_.fault == Fault::owner_never_turns) owner = (rules_.first_completion & queue.ring.entries) != 0;
    std::byte* const slot = queue.ring.memory + std::size_t{index & (queue.ring.entries - 1)} * block_bytes;
    std::memcpy(slot, entry, at::opcode_and_owner);
    const auto last = static_cast<std::uint8_t>(opcode << 4 | (owner ? 1 : 0));
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(slot + at::opcode_and_owner), last, __ATOMIC_RELEASE);
    ++queue.produced;
    ++queue.total;
    const bool error = opcode == of_request_error || opcode == of_receive_error;
    if (!error || rules_.errors_count) ++queue.counted;
    if (queue.armed && queue.ring.event >= 0) {
        queue.armed = false;
        const std::uint64_t one = 1;
        static_cast<void>(!write(queue.ring.event, &one, sizeof one));
    }
}

void Card::complete_request(const Pair& pair, const Pending& done, std::uint8_t syndrome) {
    std::byte entry[block_bytes];
    for (std::byte& one : entry) one = static_cast<std::byte>(random_());
    if (syndrome != 0) {
        entry[at::vendor_syndrome] = static_cast<std::byte>(done.refusal);
        entry[at::syndrome] = static_cast<std::byte>(syndrome);
    }
    write32(entry + at::opcode_and_pair, std::uint32_t{done.opcode} << 24 | pair.number);
    write16(entry + at::index, done.index);
    write_completion(pair.rings.send_completions, entry, syndrome != 0 ? of_request_error : of_request);
}

void Card::complete_receive(const Pair& pair, const Received& done) {
    std::byte entry[block_bytes];
    for (std::byte& one : entry) one = static_cast<std::byte>(random_());
    write32(entry + at::opcode_and_pair, pair.number);
    write16(entry + at::index, done.index);
    std::uint8_t opcode = of_receive_error;
    if (done.syndrome != 0) {
        entry[at::vendor_syndrome] = static_cast<std::byte>(done.refusal);
        entry[at::syndrome] = static_cast<std::byte>(done.syndrome);
    } else {
        write32(entry + at::bytes, static_cast<std::uint32_t>(done.bytes));
        opcode = done.opcode == send             ? of_send
                 : done.opcode == send_immediate ? of_send_immediate
                                                 : of_write_immediate;
        if (done.opcode != send) write32(entry + at::immediate, done.immediate);
    }
    write_completion(pair.rings.receive_completions, entry, opcode);
}

Round Card::retire(Pair& pair) {
    if (pair.state == Pair::State::failed) return Round::idle;
    if (pair.pending.empty()) {
        if (!pair.stopping || !pair.done.empty()) return Round::idle;
        pair.state = Pair::State::failed;  // by what it received
        flush(pair);
        return Round::moved;
    }
    const Pending done = pair.pending.front();
    if (!done.done) return Round::idle;
    pair.pending.pop_front();
    pair.retired = static_cast<std::uint16_t>(done.index + done.blocks);
    if (done.syndrome != 0) {
        complete_request(pair, done, done.syndrome);
        pair.state = Pair::State::failed;
        flush(pair);
    } else if (done.signalled || rules_.fault == Fault::completion_unasked) {
        complete_request(pair, done, 0);
    }
    return Round::moved;
}

Round Card::retire_receive(Pair& pair) {
    if (pair.done.empty()) return Round::idle;
    const Received done = pair.done.front();
    pair.done.pop_front();
    complete_receive(pair, done);
    return Round::moved;
}

// All requests that are posted and not done end in an error, signalled or not.
void Card::flush(Pair& pair) {
    if (wire_ != nullptr) wire_->fail(pair.number);
    pair.messages.clear();
    pair.to_send = 0;
    for (const Pending& one : pair.pending) complete_request(pair, one, flushed);
    pair.pending.clear();
    while (pair.limit != pair.fetched_to) fetch(pair, pair.limit);
    for (const Pair::Fetched& one : pair.fetched) {
        Pending left;
        left.index = one.index;
        left.opcode = read_control(one.bytes).opcode;
        complete_request(pair, left, flushed);
    }
    pair.fetched.clear();
    pair.consumed = pair.retired = pair.fetched_to = pair.limit;
    while (!pair.done.empty()) retire_receive(pair);
    for (const std::uint16_t index : pair.on_wire) {
        Received left;
        left.index = index;
        left.syndrome = flushed;
        complete_receive(pair, left);
    }
    pair.on_wire.clear();
    while (pair.has_receive || receives_posted(pair) > 0) {
        claim_receive(pair);
        pair.has_receive = false;
        Received left;
        left.index = pair.receive_index;
        left.syndrome = flushed;
        complete_receive(pair, left);
    }
}

Round Card::round() {
    const std::lock_guard locked(lock_);
    Round round = Round::idle;
    Packet packet;
    std::vector<std::byte> payload;
    while (network_->receive(card_, packet, payload)) {
        round = Round::moved;
        const auto found = pairs_.find(packet.to_pair);
        if (found != pairs_.end()) {
            found->second->arrived.push_back({packet, std::move(payload)});
        } else if (packet.kind == PacketKind::data) {
            // The peer is gone: its sender would find that out by retries.
            Packet lost;
            lost.kind = PacketKind::refused;
            lost.from_card = card_;
            lost.from_pair = packet.to_pair;
            lost.to_pair = packet.from_pair;
            lost.message = packet.message;
            lost.syndrome = retries_exceeded;
            network_->send(packet.from_card, lost, {});
        }
    }
    if (rules_.delay > 0) std::shuffle(order_.begin(), order_.end(), random_);
    if (wire_ != nullptr) round = more(round, exchange_with_wire());
    for (Pair* const one : order_) {
        Pair& pair = *one;
        if (pair.quiet()) continue;
        if (pair.stalled > 0) {
            --pair.stalled;
            round = more(round, Round::held);
            continue;
        }
        if (rules_.delay > 0 && chance(64))
            pair.stalled = static_cast<unsigned>(random_() % (16 << rules_.delay));
        if (!chance(pair.pace)) {
            round = more(round, Round::held);
            continue;
        }
        int order[5] = {0, 1, 2, 3, 4};
        if (rules_.delay > 0) std::shuffle(std::begin(order), std::end(order), random_);
        for (const int action : order) {
            for (unsigned times = 1 + static_cast<unsigned>(random_() % 8); times > 0; --times) {
                Round done = Round::idle;
                switch (action) {
                    case 0:
                        done = execute(pair);
                        break;
                    case 1:
                        if (wire_ == nullptr) done = transmit(pair);
                        break;
                    case 2:
                        if (wire_ == nullptr) done = receive(pair);
                        break;
                    case 3:
                        done = retire(pair);
                        break;
                    default:
                        done = retire_receive(pair);
                        break;
                }
                round = more(round, done);
                if (done != Round::moved) break;
            }
        }
    }
    return round;
}

}  // namespace lapwing::mlx5_double
