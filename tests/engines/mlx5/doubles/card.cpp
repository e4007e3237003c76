#include "engines/mlx5/doubles/card.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::mlx5_double {
namespace {

// Linux include/linux/mlx5/cq.h, MLX5_CQE_*; UCX ib_mlx5.inl reads the same.
enum CompletionOpcode : std::uint8_t {
    of_request = 0,
    of_write_immediate = 1,
    of_send = 2,
    of_request_error = 13,
    of_receive_error = 14,
};
// Linux include/linux/mlx5/cq.h, MLX5_CQE_SYNDROME_*.
enum Syndrome : std::uint8_t {
    local_length = 0x01,
    local_operation = 0x02,
    local_protection = 0x04,
    flushed = 0x05,
    remote_invalid = 0x12,
    remote_denied = 0x13,
    remote_operation = 0x14,
    retries_exceeded = 0x15,
};
// Offsets in a completion: struct mlx5_cqe64 and mlx5_err_cqe, Linux include/linux/mlx5/device.h; struct
// mlx5_cqe and mlx5_error_cqe, DPDK mlx5_prm.h (sop_drop_qpn of an error is its s_wqe_opcode_qpn).
namespace at {
constexpr std::size_t bytes = 44;
constexpr std::size_t syndrome = 55;
constexpr std::size_t opcode_and_pair = 56;
constexpr std::size_t index = 60;
constexpr std::size_t opcode_and_owner = 63;
}  // namespace at
// Words of the doorbell records: MLX5_RCV_DBR, MLX5_SND_DBR, Linux qp.h; DPDK the same. Of a completion
// queue: set_ci_db, the consumer index in 24 bits (Linux cq.h).
constexpr int receive_word = 0;
constexpr int send_word = 1;
constexpr int consumer_word = 0;

constexpr std::size_t max_messages = 8;  // that are not acknowledged
constexpr std::uint16_t half_of_indices = 0x8000;

constexpr Refusal wrong_queue = "the number of another queue";
constexpr Refusal unknown_object = "no such queue";
constexpr Refusal queue_overflow = "posted over a request that is not complete";
constexpr Refusal beyond_posted = "enable beyond what is posted";

std::uint32_t read_record(const volatile std::uint32_t* record, int word) {
    std::uint32_t stored = __atomic_load_n(record + word, __ATOMIC_ACQUIRE);
    std::byte bytes[sizeof stored];
    std::memcpy(bytes, &stored, sizeof stored);
    return read32(bytes);
}

std::uint16_t distance(std::uint16_t from, std::uint16_t to) {
    return static_cast<std::uint16_t>(to - from);
}

Round more(Round one, Round other) {
    return std::max(one, other);
}

bool is_message(std::uint8_t opcode) {
    return opcode == send || opcode == rdma_write || opcode == rdma_write_immediate;
}
bool needs_receive(std::uint8_t opcode) {
    return opcode == send || opcode == rdma_write_immediate;
}

}  // namespace

struct Card::Completions {
    std::uint32_t number = 0;
    mlx5::CompletionQueue ring;
    int event = -1;
    std::uint32_t produced = 0;  // the index of the next one, and what a WAIT compares; low 24 bits count
    std::uint32_t total = 0;     // that were written
    bool failed = false;
    bool armed = false;
};

struct Card::Pending {
    std::uint64_t serial = 0;
    std::uint16_t index = 0;
    std::uint8_t opcode = 0;
    bool signalled = false;
    bool done = false;
    std::uint8_t syndrome = 0;
};

struct Card::Message {
    std::uint32_t number = 0;
    std::uint64_t serial = 0;  // of its Pending
    Request request;
    std::uint64_t sent = 0;
    std::uint32_t max_bytes = 1024;  // in a packet
    bool all_sent = false;
};

struct Card::Received {
    std::uint8_t opcode = 0;
    std::uint16_t index = 0;
    std::uint64_t bytes = 0;
    std::uint8_t syndrome = 0;
};

struct Card::Pair {
    struct Fetched {
        std::uint16_t index = 0;
        std::array<std::byte, block_bytes> bytes{};
    };
    struct Arrived {
        Packet packet;
        std::vector<std::byte> payload;
    };
    struct Late {  // Fault::completion_before_data
        std::byte* to = nullptr;
        std::vector<std::byte> bytes;
        int rounds = 0;
    };
    enum class State { unconnected, connected, failed };

    std::uint32_t number = 0;
    mlx5::QueuePair rings;
    State state = State::unconnected;
    std::uint32_t peer_card = 0;
    std::uint32_t peer_pair = 0;
    unsigned pace = 1;
    unsigned stalled = 0;  // rounds

    // Its sends. Indices of blocks: retired <= consumed <= limit.
    std::uint16_t limit = 0;  // by the bell, or enabled
    std::uint16_t consumed = 0;
    std::uint16_t retired = 0;
    std::uint16_t fetched_to = 0;
    std::deque<Fetched> fetched;
    std::deque<Pending> pending;
    std::uint64_t next_serial = 0;
    std::deque<Message> messages;
    std::size_t to_send = 0;  // among messages
    std::uint32_t next_message = 0;
    unsigned hold = 0;  // rounds until it tries again
    unsigned silent = 0;
    bool stopping = false;  // a request has failed
    bool enabled_once = false;
    bool watched = false;  // Fault::enable_not_needed

    // What it receives.
    std::deque<Arrived> arrived;
    std::deque<Packet> answers;
    std::uint32_t expected = 0;
    std::uint64_t received = 0;
    bool has_receive = false;
    Span receive;
    std::uint16_t receive_index = 0;
    std::uint16_t receive_consumed = 0;
    std::deque<Received> done;
    std::deque<Late> late;

    const std::byte* send_block(std::uint16_t index) const {
        return rings.send + std::size_t{index & (rings.send_blocks - 1)} * block_bytes;
    }
    bool quiet() const {
        return consumed == limit && pending.empty() && arrived.empty() && answers.empty() && done.empty() &&
               late.empty() && !(stopping && state != State::failed) && !watched;
    }
};

Card::Card(std::shared_ptr<Network> network, const Rules& rules)
    : network_(std::move(network)),
      rules_(rules),
      card_(network_->join()),
      random_(rules.seed * 1000003 + card_) {}

Card::~Card() {
    for (Pair* const pair : order_) send_answers(*pair);
    network_->leave(card_);
}

// Messages that a program has seen arrive must not be reported as lost because the program ends at once.
void Card::send_answers(Pair& pair) {
    for (int tries = 0; !pair.answers.empty() && tries < 1000; ++tries)
        if (network_->send(pair.peer_card, pair.answers.front(), {})) pair.answers.pop_front();
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

std::uint32_t Card::add_completion_queue(const mlx5::CompletionQueue& ring, int event) {
    const std::lock_guard locked(lock_);
    auto queue = std::make_unique<Completions>();
    queue->number = new_number(completions_);
    queue->ring = ring;
    queue->event = event;
    queue->produced = rules_.first_completion;
    return completions_.emplace(queue->number, std::move(queue)).first->first;
}

std::uint32_t Card::add_pair(const mlx5::QueuePair& rings) {
    const std::lock_guard locked(lock_);
    auto pair = std::make_unique<Pair>();
    pair->number = new_number(pairs_);
    pair->rings = rings;
    pair->limit = pair->consumed = pair->retired = pair->fetched_to = rules_.first_send;
    pair->receive_consumed = rules_.first_receive;
    pair->watched = rings.role == mlx5::Role::managed && rules_.fault == Fault::enable_not_needed;
    pair->pace = rules_.delay == 0 ? 1 : 1u << random_() % (rules_.delay + 1);
    order_.push_back(pair.get());
    return pairs_.emplace(pair->number, std::move(pair)).first->first;
}

void Card::connect(std::uint32_t pair, std::uint32_t peer_card, std::uint32_t peer_pair) {
    const std::lock_guard locked(lock_);
    Pair& one = *pairs_.at(pair);
    one.peer_card = peer_card;
    one.peer_pair = peer_pair;
    one.state = Pair::State::connected;
    network_->notify();
}

void Card::remove_pair(std::uint32_t pair) {
    const std::lock_guard locked(lock_);
    const auto found = pairs_.find(pair);
    send_answers(*found->second);
    std::erase(order_, found->second.get());
    pairs_.erase(found);
}

void Card::remove_completion_queue(std::uint32_t queue) {
    const std::lock_guard locked(lock_);
    completions_.erase(queue);
}

mlx5::MemoryKey Card::add_memory(void* memory, std::size_t bytes) {
    const std::lock_guard locked(lock_);
    const auto fresh = [&] {
        std::uint32_t key = 0;
        do key = static_cast<std::uint32_t>(random_());
        while (key <= end_of_receive || memory_.contains(key) || remote_.contains(key));
        return key;
    };
    Memory one{static_cast<std::byte*>(memory), bytes, {}};
    one.keys.local = fresh();
    do one.keys.remote = fresh();
    while (one.keys.remote == one.keys.local);
    memory_.emplace(one.keys.local, one);
    remote_.emplace(one.keys.remote, one.keys.local);
    return one.keys;
}

void Card::remove_memory(std::uint32_t local_key) {
    const std::lock_guard locked(lock_);
    const auto found = memory_.find(local_key);
    if (found == memory_.end()) return;
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
    refusals_.push_back(fmt::format("queue pair {:#08x}, block {:#06x}: {}{}{}", pair.number, index, refusal,
                                    more.empty() ? "" : ": ", more));
}

std::vector<std::string> Card::refusals() const {
    const std::lock_guard locked(lock_);
    return refusals_;
}

// A register of 8 bytes takes the first two words of the last entry's control segment, as DPDK and Linux
// store them. The card then reads the doorbell record.
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
    if (pair.rings.role == mlx5::Role::managed) return fail(pair, pair.limit, 0, "bell of a managed queue");
    if (pair.state == Pair::State::unconnected)
        return refuse(pair, rung.index, "not supported", "bell of a queue pair that is not connected");
    if (rung.queue != pair.number) return fail(pair, pair.limit, rung.opcode, wrong_queue, "in the bell");
    const auto producer = static_cast<std::uint16_t>(read_record(pair.rings.record, send_word));
    const auto after = static_cast<std::uint16_t>(rung.index + 1);
    if (after != producer)
        return fail(pair, pair.limit, rung.opcode, "bell before the doorbell record",
                    fmt::format("the bell says {:#06x}, the record {:#06x}", after, producer));
    if (distance(pair.retired, producer) > pair.rings.send_blocks)
        return fail(pair, pair.limit, rung.opcode, queue_overflow,
                    fmt::format("{} blocks posted in a ring of {}", distance(pair.retired, producer),
                                pair.rings.send_blocks));
    pair.limit = producer;
    if (rules_.delay == 0 || !chance(4)) fetch(pair, producer);
}

void Card::arm(std::uint32_t number, std::uint32_t consumed) {
    const std::lock_guard locked(lock_);
    Completions& queue = *completions_.at(number);
    if (queue.event < 0)
        throw Error(ErrorCode::invalid_argument, "a completion queue made without events cannot be armed");
    queue.armed = true;
    if (((queue.produced - consumed) & completion_mask) != 0) signal(queue);
}

void Card::signal(Completions& queue) {
    queue.armed = false;
    const std::uint64_t one = 1;
    static_cast<void>(!write(queue.event, &one, sizeof one));
}

void Card::write_completion(std::uint32_t number, const std::byte* entry, std::uint8_t opcode) {
    const auto found = completions_.find(number);
    if (found == completions_.end() || found->second->failed) return;
    Completions& queue = *found->second;
    const std::uint32_t index = queue.produced & completion_mask;
    const std::uint32_t read = read_record(queue.ring.record, consumer_word) & completion_mask;
    if (!queue.ring.ignore_overrun && ((index - read) & completion_mask) >= queue.ring.entries) {
        queue.failed = true;
        refusals_.push_back(fmt::format("completion queue {:#08x}: overrun of a completion queue", number));
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
    if (queue.armed) signal(queue);
}

void Card::complete_request(const Pair& pair, const Pending& done, std::uint8_t syndrome) {
    std::byte entry[block_bytes];
    for (std::byte& one : entry) one = static_cast<std::byte>(random_());
    if (syndrome != 0) entry[at::syndrome] = static_cast<std::byte>(syndrome);
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
        entry[at::syndrome] = static_cast<std::byte>(done.syndrome);
    } else {
        write32(entry + at::bytes, static_cast<std::uint32_t>(done.bytes));
        opcode = done.opcode == send ? of_send : of_write_immediate;
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
    pair.retired = static_cast<std::uint16_t>(done.index + 1);
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
        using Action = Round (Card::*)(Pair&);
        Action order[] = {&Card::execute, &Card::transmit, &Card::receive, &Card::retire,
                          &Card::retire_receive};
        if (rules_.delay > 0) std::shuffle(std::begin(order), std::end(order), random_);
        for (const Action action : order) {
            for (unsigned times = 1 + static_cast<unsigned>(random_() % 8); times > 0; --times) {
                const Round done = (this->*action)(pair);
                round = more(round, done);
                if (done != Round::moved) break;
            }
        }
    }
    return round;
}

// What a card does with the entries of a send queue.

// Copies the posted requests up to block `end`: later stores there have no effect.
void Card::fetch(Pair& pair, std::uint16_t end) {
    while (pair.fetched_to != end) {
        Pair::Fetched& one = pair.fetched.emplace_back();
        one.index = pair.fetched_to++;
        std::memcpy(one.bytes.data(), pair.send_block(one.index), block_bytes);
        // Late: each when it runs.
        if (end == pair.limit && pair.fetched.size() == 1 && rules_.delay > 0 && chance(8)) break;
    }
}

void Card::fail(Pair& pair, std::uint16_t index, std::uint8_t opcode, Refusal refusal,
                const std::string& more) {
    refuse(pair, index, refusal, more);
    Pending failed;
    failed.serial = pair.next_serial++;
    failed.index = index;
    failed.opcode = opcode;
    failed.done = true;
    failed.syndrome = refusal == uncovered_memory ? local_protection : local_operation;
    pair.pending.push_back(failed);
    pair.stopping = true;
}

Round Card::execute(Pair& pair) {
    if (pair.state != Pair::State::connected || pair.stopping) return Round::idle;
    if (pair.watched) {
        const auto lies_there = [&] {
            const Control head = read_control({pair.send_block(pair.limit), block_bytes});
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
    Refusal refusal = read_request(next.bytes, request);
    const Control& head = request.control;
    if (head.index != next.index)
        refusal = "wrong index of the entry in its queue";  // not the index of the block where it lies
    else if (head.queue != pair.number)
        refusal = wrong_queue;
    if (refusal == nullptr && is_message(head.opcode)) {
        if (pair.messages.size() >= max_messages) return Round::idle;
        start_message(pair, request, refusal);
    } else if (refusal == nullptr) {
        if (pair.rings.role != mlx5::Role::master && (rules_.strict || head.opcode != wait))
            refusal = "management request in a queue that is no master";
        else if (head.opcode == send_enable)
            refusal = enable_sends(request);
        else if (!wait_is_over(request, refusal) && refusal == nullptr)
            return Round::idle;
        if (refusal == nullptr) add_pending(pair, request).done = true;
    }
    if (refusal != nullptr) fail(pair, next.index, head.opcode, refusal, print(request));
    ++pair.consumed;
    pair.fetched.pop_front();
    return Round::moved;
}

Card::Pending& Card::add_pending(Pair& pair, const Request& request) {
    Pending& added = pair.pending.emplace_back();
    added.serial = pair.next_serial++;
    added.index = request.control.index;
    added.opcode = request.control.opcode;
    added.signalled = request.control.signalled;
    return added;
}

void Card::start_message(Pair& pair, const Request& request, Refusal& refusal) {
    const Span& data = request.data;
    if (data.bytes > 0 && local(data.key, data.address, data.bytes) == nullptr) {
        refusal = uncovered_memory;
        return;
    }
    Message& message = pair.messages.emplace_back();
    message.number = pair.next_message++;
    message.serial = add_pending(pair, request).serial;
    message.request = request;
    message.max_bytes = rules_.delay == 0 ? 4096 : 64u << 2 * (random_() % 4);
}

// A WAIT names the index of the completion that it waits for, in 24 bits and cyclically: pcx waits for
// cmpl_cnt - 1; DPDK's txpp for the index of the clock queue's entry. Entries that the card has written
// count, read or not.
bool Card::wait_is_over(const Request& request, Refusal& refusal) const {
    const auto found = completions_.find(request.object);
    if (found == completions_.end()) {
        refusal = unknown_object;
        return false;
    }
    const Completions& queue = *found->second;
    std::uint32_t index = request.max_index;
    std::uint32_t mask = completion_mask;
    std::uint32_t counted = queue.produced;
    const Fault fault = rules_.fault;
    if (fault == Fault::wait_never_blocks) return true;
    if (fault == Fault::wait_one_early) --index;
    if (fault == Fault::wait_one_late) ++index;
    if (fault == Fault::wait_in_16_bits) mask = 0xffff;
    // Only what has not been overwritten.
    if (fault == Fault::wait_forgets_overrun)
        counted = rules_.first_completion + std::min(queue.total, queue.ring.entries);
    return ((counted - index - 1) & mask) <= mask / 2;
}

// max_index is the index after the last block that may run: pcx enables slave_qp->write_cnt, DPDK's gcm its
// pi.
Refusal Card::enable_sends(const Request& request) {
    const auto found = pairs_.find(request.object);
    if (found == pairs_.end()) return unknown_object;
    Pair& slave = *found->second;
    if (slave.rings.role != mlx5::Role::managed) return "enable of a queue that is not managed";
    auto limit = static_cast<std::uint16_t>(request.max_index);
    if (rules_.fault == Fault::enable_one_more) ++limit;
    if (rules_.fault == Fault::enable_is_relative) limit = static_cast<std::uint16_t>(slave.limit + limit);
    if (rules_.fault == Fault::enable_once && slave.enabled_once) return nullptr;
    const std::uint16_t ahead = distance(slave.limit, limit);
    if (ahead >= half_of_indices)  // behind: it was enabled before, and that is harmless
        return distance(limit, slave.limit) <= slave.rings.send_blocks ? nullptr
                                                                       : "enable 2^15 or more ahead";
    if (distance(slave.retired, limit) > slave.rings.send_blocks) return beyond_posted;
    // Software rings no bell for such a queue: only the index of a request shows that it is posted.
    for (std::uint16_t index = slave.limit; index != limit; ++index)
        if (read_control({slave.send_block(index), block_bytes}).index != index &&
            rules_.fault != Fault::enable_one_more)
            return beyond_posted;
    slave.enabled_once = slave.enabled_once || ahead > 0;
    slave.limit = limit;
    if (rules_.delay == 0 || !chance(4)) fetch(slave, limit);
    return nullptr;
}

// How a card sends messages to others and takes theirs.

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
    packet.remote_key = request.remote_key;
    packet.remote_address = request.remote_address;
    packet.offset = message.sent;
    packet.bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(message.max_bytes, request.data.bytes - message.sent));
    packet.last = packet.offset + packet.bytes == request.data.bytes;
    std::span<const std::byte> payload;
    if (packet.bytes > 0) {
        const Span& data = request.data;
        payload = {local(data.key, data.address + message.sent, packet.bytes), packet.bytes};
        if (payload.data() == nullptr) {  // deregistered while it is sent
            refuse(pair, request.control.index, uncovered_memory, "while it was sent");
            Packet lost;
            lost.kind = PacketKind::refused;
            lost.syndrome = local_protection;
            lost.message = message.number;
            take_answer(pair, lost);
            return Round::moved;
        }
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
    const auto posted = static_cast<std::uint16_t>(read_record(pair.rings.record, receive_word));
    return distance(pair.receive_consumed, posted);
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
    const bool sent = packet.opcode == send;
    const bool entry_now = sent ? packet.offset == 0 : packet.last && needs_receive(packet.opcode);
    // A missing receive is not the only reason for a retry.
    const bool moody = rules_.delay > 0 && chance(32);
    if (entry_now && !pair.has_receive && receives_posted(pair) > pair.rings.receive_entries)
        return refuse_message(pair, queue_overflow, local_operation, remote_operation);
    // Earlier pieces of a write have been written, and are not sent again.
    if ((packet.offset == 0 && moody) || (entry_now && !claim_receive(pair)))
        return answer(pair, PacketKind::not_ready, packet.message, 0, packet.offset);
    std::byte* to = nullptr;
    if (sent) {
        const bool empty = pair.receive.key == end_of_receive;
        const std::uint64_t room = empty ? 0 : pair.receive.bytes;
        if (!empty && (room == 0 || local(pair.receive.key, pair.receive.address, room) == nullptr))
            return refuse_message(pair, uncovered_memory, local_protection, remote_operation);
        if (packet.offset + packet.bytes > room && packet.bytes > 0)
            return refuse_message(pair, "receive shorter than the message", local_length, remote_invalid);
        to = reinterpret_cast<std::byte*>(pair.receive.address + packet.offset);
    } else if (packet.bytes > 0) {
        to = remote(packet.remote_key, packet.remote_address + packet.offset, packet.bytes);
        if (to == nullptr)
            return refuse_message(pair, "remote memory that the key does not cover", 0, remote_denied);
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
