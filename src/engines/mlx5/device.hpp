// A ConnectX card as the engine sees it: memory that both read and write, and few calls that make it.
//
// While a list runs, the engine only stores into queues, doorbell records and bells, and loads from
// completion queues. This code is the same for a card and for the tests' emulator of a card. What differs is
// behind `Device`, which is called while queues are made, never while a list runs.
//
// Everything in this memory is big-endian. Calls throw Error: unsupported if the card lacks the feature,
// system if it refuses. A Device and what it made belong to one thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/verdict.hpp"

namespace lapwing::mlx5 {

constexpr std::uint32_t block_bytes = 64;    // of a send queue (WQEBB), and of an entry of a completion queue
constexpr std::uint32_t receive_bytes = 16;  // of an entry of a receive queue: one data segment

// Barriers between the processor and a card. ARM's order between processors does not hold for devices, which
// are in its outer shareable domain (as in util/udma_barrier.h of rdma-core). x86 needs no barrier.

// The card sees stores before this call before stores after it.
inline void order_stores_for_the_card() {
#if defined(__aarch64__)
    asm volatile("dmb oshst" ::: "memory");
#endif
}

// Loads after this call are at least as new as loads before it.
inline void order_reads_of_the_card() {
#if defined(__aarch64__)
    asm volatile("dmb oshld" ::: "memory");
#endif
}

// The 8-byte register that makes the card look at a queue.
struct Bell {
    volatile std::uint64_t* address = nullptr;
    // If there is no register: called with `context` and the value, as it would be stored.
    void (*call)(void* context, std::uint64_t value) = nullptr;
    void* context = nullptr;

    void ring(std::uint64_t value) const {
        // Queue and doorbell record before the bell. Not std's fence: GCC's thread sanitizer refuses that.
        __sync_synchronize();
        order_stores_for_the_card();
        if (call != nullptr) {
            call(context, value);
        } else {
            *address = value;
        }
    }
};

struct CompletionQueue {
    std::byte* memory = nullptr;  // of `entries` times block_bytes; all invalid (opcode 0xf) at first
    std::uint32_t entries = 0;    // a power of two
    std::uint32_t number = 0;     // CQN, 24 bits
    // The doorbell record: [0] the index of the next entry that software reads, 24 bits; [1] arming.
    volatile std::uint32_t* record = nullptr;
    // The card may overwrite entries that software has not read.
    bool ignore_overrun = false;
    // The index of the first completion: 0 on a card. Entry i is at i modulo `entries`; a WAIT counts in it.
    std::uint32_t first = 0;
};

// How a queue pair takes part in cross-channel work.
enum class Role : std::uint8_t {
    plain,    // each bell lets everything posted run
    master,   // may also hold SEND_EN; the management queue (cd_master)
    managed,  // its sends run as far as a master has enabled them; it has no bell (cd_slave_send)
};

// A reliable connection. Blocks of the send queue and entries of the receive queue are used in turn.
struct QueuePair {
    std::byte* send = nullptr;          // of `send_blocks` times block_bytes
    std::uint32_t send_blocks = 0;      // a power of two, at most 2^15
    std::byte* receive = nullptr;       // of `receive_entries` times receive_bytes; null: none
    std::uint32_t receive_entries = 0;  // a power of two; 0: it receives nothing
    // The doorbell record: [0] the receive queue's producer index, [1] the send queue's, 16 bits each.
    volatile std::uint32_t* record = nullptr;
    Bell bell;                              // takes the first 8 bytes of the last control segment
    std::uint32_t number = 0;               // QPN, 24 bits
    std::uint32_t send_completions = 0;     // number of the completion queue of its send queue
    std::uint32_t receive_completions = 0;  // and of its receive queue
    Role role = Role::plain;
    // The indices of the first block and of the first receive: 0 on a card.
    std::uint16_t first_send = 0;
    std::uint16_t first_receive = 0;
};

struct MemoryKey {
    std::uint32_t local = 0;   // lkey: what data segments name
    std::uint32_t remote = 0;  // rkey: what remote-address segments name
};

struct CompletionQueueOptions {
    std::uint32_t entries = 0;  // at least; rounded up to a power of two
    bool ignore_overrun = false;
    bool events = false;  // arm() may be called
};

struct QueuePairOptions {
    std::uint32_t send_blocks = 0;      // at least; rounded up to a power of two
    std::uint32_t receive_entries = 0;  // at least; rounded up to a power of two
    const CompletionQueue* send_completions = nullptr;
    const CompletionQueue* receive_completions = nullptr;
    Role role = Role::plain;
};

// What a peer needs to connect: the queue pair's number, and bytes that only devices of the same sort
// understand (LID or GID and MAC; the double's process).
struct Address {
    std::uint32_t number = 0;
    std::array<std::byte, 60> location{};
};

struct Capabilities {
    // A queue pair may be master or managed, so SEND_EN works (cd).
    Verdict cross_channel = Verdict::no("not asked");
    // WAIT for a completion queue is taken in a plain queue pair, too.
    Verdict wait_in_plain = Verdict::no("not asked");
    std::uint32_t max_send_blocks = 0;
    std::uint32_t max_receive_entries = 0;
    std::uint32_t max_completions = 0;
    std::uint64_t max_message = 0;  // bytes
};

class Device {
  public:
    virtual ~Device() = default;

    virtual const char* name() const = 0;  // as "mlx5_0"
    virtual Capabilities capabilities() const = 0;
    // How long a rank waits for messages before it asks whether their senders are alive.
    virtual std::chrono::milliseconds keep_alive() const { return std::chrono::milliseconds(1000); }

    virtual CompletionQueue create_completion_queue(const CompletionQueueOptions& options) = 0;
    // Its completion queues must outlive it. It is not connected yet: receives may be posted, sends must not.
    virtual QueuePair create_queue_pair(const QueuePairOptions& options) = 0;
    virtual Address address(const QueuePair& pair) const = 0;
    // Connects to the queue pair of that address, or to itself. Sends may be posted now. The card retries
    // them until the other end has connected and posted a receive.
    virtual void connect(const QueuePair& pair, const Address& peer) = 0;
    // At any time, also while the queue pair waits: its pending requests are dropped.
    virtual void destroy(const QueuePair& pair) = 0;
    virtual void destroy(const CompletionQueue& queue) = 0;

    // Queue pairs of this process and of peers may then read and write the memory.
    virtual MemoryKey register_memory(void* memory, std::size_t bytes) = 0;
    virtual void deregister(const MemoryKey& key) = 0;

    // Requests one event for the next completion from index `consumed` on; at once if there is one already.
    // The event makes the descriptor readable, until clear_events().
    virtual void arm(const CompletionQueue& queue, std::uint32_t consumed) = 0;
    virtual int event_descriptor() const = 0;
    virtual void clear_events() = 0;

    // Lets the card work for this long. An emulator of a card returns when it has nothing left to do.
    virtual void rest(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }
};

// Registers memory with the card, as long as this object lives.
class Registered {
  public:
    Registered() = default;
    Registered(Device& device, const std::byte* memory, std::size_t bytes) {
        if (bytes == 0) return;
        key_ = device.register_memory(const_cast<std::byte*>(memory), bytes);
        device_ = &device;
    }
    ~Registered() { reset(); }
    Registered(Registered&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)), key_(other.key_) {}
    Registered& operator=(Registered&& other) noexcept {
        reset();
        device_ = std::exchange(other.device_, nullptr);
        key_ = other.key_;
        return *this;
    }

    void reset() {
        if (device_ != nullptr) std::exchange(device_, nullptr)->deregister(key_);
    }
    const MemoryKey& key() const { return key_; }

  private:
    Device* device_ = nullptr;  // null: nothing is registered
    MemoryKey key_;
};

}  // namespace lapwing::mlx5
