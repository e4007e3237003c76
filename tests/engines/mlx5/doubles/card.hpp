// The double of a ConnectX card: interprets the queues that a program writes, strictly by the card's rules.
// Written from DPDK's and Linux's drivers, and from what Mellanox's own programs do (pcx, libmlx5). Where
// these leave something open, `Rules` decides.
//
// It does the worst that the rules allow, by a seed. It fetches requests at the bell (of a managed queue: at
// the enable) or as late as they run. Queues run in any order. Messages go in pieces. Receivers make senders
// retry; a retried send is read anew, but of a write only the piece that needs a receive. Completions come
// late, never before the data, with junk in all fields without a meaning. Counters begin just before they
// wrap.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "engines/mlx5/device.hpp"
#include "engines/mlx5/doubles/network.hpp"
#include "engines/mlx5/doubles/wqe.hpp"

namespace lapwing::mlx5_double {

// One broken rule of the card, which the conformance program must find.
enum class Fault : std::uint8_t {
    none,
    wait_one_early,          // a WAIT for index n ends with n completions
    wait_one_late,           // with n + 2
    wait_never_blocks,       //
    wait_in_16_bits,         // the count of completions wraps too early
    wait_forgets_overrun,    // counts only what its ring holds
    enable_one_more,         //
    enable_is_relative,      // counted from what is enabled already
    enable_not_needed,       // managed sends run when posted
    enable_once,             // a later one does nothing
    completion_before_data,  //
    completion_unasked,      // for an unsignalled request, too
    owner_never_turns,       //
    order_lost,              // a queue's sends overtake each other
    key_not_checked,         //
};

struct Rules {
    std::uint64_t seed = 1;
    // Where sources differ. WAIT in a queue without cd_master: refused, or as DPDK's transmit queues do.
    bool strict = false;
    bool cross_channel = true;  // masters and managed queues exist
    std::uint16_t first_send = 0xfff0;
    std::uint16_t first_receive = 0xfff0;
    std::uint32_t first_completion = 0xfffff0;
    // 0: each queue in turn does all it can. The higher, the less it does at a time.
    unsigned delay = 3;
    std::chrono::milliseconds keep_alive{1000};  // of mlx5::Device
    Fault fault = Fault::none;
};

enum class Round {
    idle,  // waits for a posted request or a packet
    held,  // waits for a time
    moved,
};

// Any thread may call it.
class Card {
  public:
    Card(std::shared_ptr<Network> network, const Rules& rules);
    ~Card();
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;

    const Rules& rules() const { return rules_; }
    std::uint32_t number() const { return card_; }
    Network& network() { return *network_; }

    // Numbers have 24 bits; a queue pair and a completion queue may have the same, as on a card. The caller
    // owns the memory.
    // `event`: an eventfd that is written when the armed queue gets a completion; -1: it cannot be armed.
    std::uint32_t add_completion_queue(const mlx5::CompletionQueue& ring, int event);
    std::uint32_t add_pair(const mlx5::QueuePair& rings);
    void connect(std::uint32_t pair, std::uint32_t peer_card, std::uint32_t peer_pair);
    void remove_pair(std::uint32_t pair);
    void remove_completion_queue(std::uint32_t queue);
    mlx5::MemoryKey add_memory(void* memory, std::size_t bytes);
    void remove_memory(std::uint32_t local_key);

    // Stores a value into the bell's register.
    void bell(std::uint32_t pair, std::uint64_t value);
    // Throws Error (invalid_argument) if the queue has no events.
    void arm(std::uint32_t queue, std::uint32_t consumed);

    // Each queue may do a little.
    Round round();

    // What the card has refused, as sentences.
    std::vector<std::string> refusals() const;

  private:
    struct Completions;
    struct Pair;
    struct Pending;
    struct Message;
    struct Received;
    struct Memory {
        std::byte* begin = nullptr;
        std::size_t bytes = 0;
        mlx5::MemoryKey keys;
    };

    template <typename Queues>
    std::uint32_t new_number(const Queues& queues);
    bool chance(unsigned in);  // with probability 1 / in
    void refuse(const Pair& pair, std::uint16_t index, Refusal refusal, const std::string& more = "");

    std::byte* local(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const;
    std::byte* remote(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const;

    void fetch(Pair& pair, std::uint16_t end);
    Round execute(Pair& pair);
    void start_message(Pair& pair, const Request& request, Refusal& refusal);
    bool wait_is_over(const Request& request, Refusal& refusal) const;
    Refusal enable_sends(const Request& request);
    void fail(Pair& pair, std::uint16_t index, std::uint8_t opcode, Refusal refusal,
              const std::string& more = "");
    Pending& add_pending(Pair& pair, const Request& request);
    Round transmit(Pair& pair);
    Round receive(Pair& pair);
    void take(Pair& pair, const Packet& packet, const std::vector<std::byte>& payload);
    void take_answer(Pair& pair, const Packet& packet);
    bool claim_receive(Pair& pair);
    void refuse_message(Pair& pair, Refusal refusal, std::uint8_t own_syndrome, std::uint8_t peers_syndrome);
    // `offset`: where the message is sent again from.
    void answer(Pair& pair, PacketKind kind, std::uint32_t message, std::uint8_t syndrome = 0,
                std::uint64_t offset = 0);
    void send_answers(Pair& pair);
    Round retire(Pair& pair);
    Round retire_receive(Pair& pair);
    void flush(Pair& pair);
    void complete_request(const Pair& pair, const Pending& done, std::uint8_t syndrome);
    void complete_receive(const Pair& pair, const Received& done);
    static void signal(Completions& queue);
    void write_completion(std::uint32_t queue, const std::byte* entry, std::uint8_t opcode);
    std::uint16_t receives_posted(const Pair& pair) const;

    std::shared_ptr<Network> network_;
    Rules rules_;
    std::uint32_t card_;
    mutable std::mutex lock_;
    std::mt19937_64 random_;
    std::map<std::uint32_t, std::unique_ptr<Completions>> completions_;
    std::map<std::uint32_t, std::unique_ptr<Pair>> pairs_;
    std::vector<Pair*> order_;
    std::map<std::uint32_t, Memory> memory_;         // by local key
    std::map<std::uint32_t, std::uint32_t> remote_;  // remote key to local key
    std::vector<std::string> refusals_;
};

}  // namespace lapwing::mlx5_double
