#include "engines/mlx5/doubles/device.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::mlx5_double {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t max_blocks = 1u << 15;
constexpr std::uint32_t max_completions = 1u << 22;
constexpr std::uint32_t max_message = 1u << 30;
constexpr char place_name[] = "double";

std::uint32_t ring_size(std::uint32_t wanted, std::uint32_t max, const char* what) {
    if (wanted == 0 || wanted > max)
        throw Error(ErrorCode::system, fmt::format("{} {}: the card takes 1 to {}", wanted, what, max));
    return std::bit_ceil(wanted);
}

void write_record(volatile std::uint32_t* word, std::uint32_t value) {
    std::byte bytes[sizeof value];
    write32(bytes, value);
    std::uint32_t stored = 0;
    std::memcpy(&stored, bytes, sizeof stored);
    *word = stored;
}

}  // namespace

std::shared_ptr<Driver> Driver::of(const std::shared_ptr<Network>& network) {
    static std::mutex lock;
    static std::map<Network*, std::weak_ptr<Driver>> drivers;
    const std::lock_guard locked(lock);
    std::weak_ptr<Driver>& known = drivers[network.get()];
    std::shared_ptr<Driver> driver = known.lock();
    if (driver == nullptr) known = driver = std::make_shared<Driver>(network);
    return driver;
}

Driver::Driver(std::shared_ptr<Network> network) : network_(std::move(network)) {
    thread_ = std::thread([this] { run(); });
}

Driver::~Driver() {
    ends_ = true;
    network_->notify();
    thread_.join();
}

void Driver::add(Card* card) {
    const std::lock_guard locked(lock_);
    cards_.insert(card);
}

void Driver::remove(Card* card) {
    const std::lock_guard locked(lock_);
    cards_.erase(card);
}

void Driver::settle() {
    // A round that begins from now on sees everything that the caller has stored. Queues take turns and
    // packets are late by the seed, and messages may be retried for ever; so many rounds are enough for all
    // that can happen.
    constexpr std::uint64_t enough = 2000;
    const std::uint64_t first = begun_ + 1;
    while (settled_ < first && begun_ < first + enough) {
        network_->notify();
        std::this_thread::sleep_for(microseconds(50));
    }
}

void Driver::run() {
    int quiet_rounds = 0;
    while (!ends_) {
        const std::uint64_t number = ++begun_;
        const std::uint32_t seen = network_->events();
        Round round = Round::idle;
        {
            const std::lock_guard locked(lock_);
            for (Card* const card : cards_) round = std::max(round, card->round());
        }
        // The threads that the card serves may need this processor.
        if (round == Round::moved) {
            quiet_rounds = 0;
            std::this_thread::yield();
        } else {
            const int held = ++quiet_rounds < 64 ? 20 : 200;
            if (round == Round::idle) settled_ = number;
            network_->wait(seen, microseconds(round == Round::held ? held : 2000));
        }
    }
}

struct DoubleDevice::Rings {
    std::unique_ptr<std::byte[]> memory;
    std::byte* begin = nullptr;
    alignas(64) std::uint32_t record[2] = {};
    Card* card = nullptr;
    std::uint32_t number = 0;

    std::byte* make(std::size_t bytes) {
        memory = std::make_unique<std::byte[]>(bytes + block_bytes);
        const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
        begin = memory.get() + (block_bytes - address % block_bytes) % block_bytes;
        return begin;
    }
};

DoubleDevice::DoubleDevice(std::shared_ptr<Network> network, const Rules& rules, Drive drive)
    : card_(std::make_unique<Card>(network, rules)),
      name_(fmt::format("double_{}", card_->number())),
      event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (event_ < 0) throw Error(ErrorCode::system, fmt::format("eventfd: {}", std::strerror(errno)));
    if (drive == Drive::thread) {
        driver_ = Driver::of(network);
        driver_->add(card_.get());
    }
}

DoubleDevice::~DoubleDevice() {
    if (driver_ != nullptr) driver_->remove(card_.get());
    close(event_);
}

mlx5::Capabilities DoubleDevice::capabilities() const {
    const Rules& rules = card_->rules();
    mlx5::Capabilities all;
    all.cross_channel =
        rules.cross_channel ? Verdict::yes() : Verdict::no("the double of the card was made without");
    all.wait_in_plain = rules.strict ? Verdict::no("the double of the card is strict") : Verdict::yes();
    all.max_send_blocks = max_blocks;
    all.max_receive_entries = max_blocks;
    all.max_completions = max_completions;
    all.max_message = max_message;
    return all;
}

mlx5::CompletionQueue DoubleDevice::create_completion_queue(const mlx5::CompletionQueueOptions& options) {
    auto rings = std::make_unique<Rings>();
    mlx5::CompletionQueue queue;
    queue.entries = ring_size(options.entries, max_completions, "completions");
    queue.memory = rings->make(std::size_t{queue.entries} * block_bytes);
    // As drivers initialize them: MLX5_CQE_INVALID, whose owner bit is not read.
    for (std::uint32_t entry = 0; entry < queue.entries; ++entry)
        queue.memory[std::size_t{entry} * block_bytes + block_bytes - 1] = std::byte{0xf0};
    queue.record = rings->record;
    queue.ignore_overrun = options.ignore_overrun;
    queue.first = card_->rules().first_completion;
    write_record(rings->record, queue.first);
    queue.number = card_->add_completion_queue(queue, options.events ? event_ : -1);
    completion_rings_[queue.number] = std::move(rings);
    return queue;
}

mlx5::QueuePair DoubleDevice::create_queue_pair(const mlx5::QueuePairOptions& options) {
    const Rules& rules = card_->rules();
    if (options.role != mlx5::Role::plain && !rules.cross_channel)
        throw Error(ErrorCode::unsupported, "this card has no cross-channel queue pairs");
    if (options.send_completions == nullptr || options.receive_completions == nullptr)
        throw Error(ErrorCode::invalid_argument, "a queue pair without completion queues");
    auto rings = std::make_unique<Rings>();
    mlx5::QueuePair pair;
    pair.send_blocks = ring_size(options.send_blocks, max_blocks, "blocks of a send queue");
    if (options.receive_entries > 0)
        pair.receive_entries = ring_size(options.receive_entries, max_blocks, "entries of a receive queue");
    const std::size_t send_bytes = std::size_t{pair.send_blocks} * block_bytes;
    pair.send = rings->make(send_bytes + std::size_t{pair.receive_entries} * segment_bytes);
    if (pair.receive_entries > 0) pair.receive = pair.send + send_bytes;
    // Blocks that software has not written must not be valid requests.
    std::memset(pair.send, 0xa5, send_bytes + std::size_t{pair.receive_entries} * segment_bytes);
    pair.record = rings->record;
    write_record(rings->record, rules.first_receive);
    write_record(rings->record + 1, rules.first_send);
    pair.send_completions = options.send_completions->number;
    pair.receive_completions = options.receive_completions->number;
    pair.role = options.role;
    pair.first_send = rules.first_send;
    pair.first_receive = rules.first_receive;
    pair.number = card_->add_pair(pair);
    rings->card = card_.get();
    rings->number = pair.number;
    pair.bell.context = rings.get();
    pair.bell.call = [](void* context, std::uint64_t value) {
        auto* const of = static_cast<Rings*>(context);
        of->card->bell(of->number, value);
    };
    pair_rings_[pair.number] = std::move(rings);
    return pair;
}

mlx5::Address DoubleDevice::address(const mlx5::QueuePair& pair) const {
    mlx5::Address address;
    address.number = pair.number;
    std::memcpy(address.location.data(), place_name, sizeof place_name);
    write32(address.location.data() + sizeof place_name, card_->number());
    return address;
}

void DoubleDevice::connect(const mlx5::QueuePair& pair, const mlx5::Address& peer) {
    if (std::memcmp(peer.location.data(), place_name, sizeof place_name) != 0)
        throw Error(ErrorCode::system, "the address of another sort of card");
    card_->connect(pair.number, read32(peer.location.data() + sizeof place_name), peer.number);
}

void DoubleDevice::destroy(const mlx5::QueuePair& pair) {
    card_->remove_pair(pair.number);
    pair_rings_.erase(pair.number);
}

void DoubleDevice::destroy(const mlx5::CompletionQueue& queue) {
    card_->remove_completion_queue(queue.number);
    completion_rings_.erase(queue.number);
}

mlx5::MemoryKey DoubleDevice::register_memory(void* memory, std::size_t bytes) {
    return card_->add_memory(memory, bytes);
}

void DoubleDevice::deregister(const mlx5::MemoryKey& key) {
    card_->remove_memory(key.local);
}

void DoubleDevice::arm(const mlx5::CompletionQueue& queue, std::uint32_t consumed) {
    card_->arm(queue.number, consumed);
}

void DoubleDevice::rest(std::chrono::milliseconds /*time*/) {
    if (driver_ != nullptr) driver_->settle();
}

void DoubleDevice::clear_events() {
    std::uint64_t events = 0;
    static_cast<void>(!read(event_, &events, sizeof events));
}

}  // namespace lapwing::mlx5_double
