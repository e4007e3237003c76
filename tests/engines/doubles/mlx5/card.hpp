// The double of a ConnectX: an interpreter of the queues that a program writes, with the rules of the card
// and none of its kindness. Written from DPDK's and Linux's drivers and from what Mellanox's own programs do
// (pcx, libmlx5); where these leave something open, `Rules` says which way it goes.
//
// Unkind, by a seed: requests are fetched at the bell (a managed queue's at the enable) or as late as they
// run; queues take turns in any order; messages go in pieces; receivers make senders try again, and what is
// sent is read anew then, but of a write only the piece that needs a receive; completions come late, never
// before the data; all that a completion need not say is junk; counters begin just before they wrap.
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

#include "engines/doubles/mlx5/network.hpp"
#include "engines/doubles/mlx5/wire.hpp"
#include "engines/doubles/mlx5/wqe.hpp"

namespace lapwing::mlx5_double {

// One rule of the card broken: what tests of the double, and the conformance program, must find.
enum class Fault : std::uint8_t {
    none,
    wait_one_early,             // a WAIT for index n ends with n completions
    wait_one_late,              // with n + 2
    wait_never_blocks,          //
    wait_in_16_bits,            // the count of completions wraps too early
    wait_forgets_overrun,       // counts only what its ring holds
    enable_one_more,            //
    enable_is_relative,         // counted from what is enabled already
    enable_not_needed,          // managed sends run when posted
    enable_once,                // a later one does nothing
    receive_enable_not_needed,  //
    completion_before_data,     //
    completion_unasked,         // for an unsignalled request, too
    owner_never_turns,          //
    immediate_lost,             //
    order_lost,                 // a queue's sends overtake each other
    index_not_checked,          //
    key_not_checked,            //
    overrun_ignored,            // where it must not be
    record_not_needed,          // the bell's index is believed
};
constexpr int faults = static_cast<int>(Fault::record_not_needed) + 1;

struct Rules {
    std::uint64_t seed = 1;
    // Where sources differ or are silent. WAIT in a queue without cd_master: refused, or as DPDK's transmit
    // queues do. RECV_EN beyond what is posted: refused, or without effect there as in pcx.
    bool strict = false;
    bool cross_channel = true;  // masters and managed queues exist
    bool wait_on_data = true;
    // Whether an error completion counts for a WAIT.
    bool errors_count = true;
    std::uint16_t first_send = 0xfff0;
    std::uint16_t first_receive = 0xfff0;
    std::uint32_t first_completion = 0xfffff0;
    // 0: each queue does all it can, in turn. Above: the more, the less it does at a time.
    unsigned delay = 3;
    std::chrono::milliseconds keep_alive{1000};  // as mlx5::Device says
    Fault fault = Fault::none;
};

struct CompletionRing {
    std::byte* memory = nullptr;
    std::uint32_t entries = 0;
    volatile std::uint32_t* record = nullptr;
    bool ignore_overrun = false;
    int event = -1;  // an eventfd that is written when an armed queue gets a completion
};

struct PairRings {
    std::byte* send = nullptr;
    std::uint32_t send_blocks = 0;
    std::byte* receive = nullptr;
    std::uint32_t receive_entries = 0;
    volatile std::uint32_t* record = nullptr;
    std::uint32_t send_completions = 0;
    std::uint32_t receive_completions = 0;
    bool master = false;
    bool managed_sends = false;
    bool managed_receives = false;
};

enum class Round {
    idle,  // nothing can go on before somebody posts something, or a packet comes
    held,  // something waits for its time, or for memory
    moved,
};

// Any thread may call it.
class Card {
  public:
    // `wire`: what moves messages; null: the network does.
    Card(std::shared_ptr<Network> network, const Rules& rules, std::unique_ptr<Wire> wire = nullptr);
    ~Card();
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;

    const Rules& rules() const { return rules_; }
    std::uint32_t number() const { return card_; }
    Network& network() { return *network_; }

    // Numbers of 24 bits; one of either sort may be equal, as a card's may be. The memory is the caller's.
    std::uint32_t add_completion_queue(const CompletionRing& ring);
    std::uint32_t add_pair(const PairRings& rings);
    void connect(std::uint32_t pair, std::uint32_t peer_card, std::uint32_t peer_pair);
    void remove_pair(std::uint32_t pair);
    void remove_completion_queue(std::uint32_t queue);
    // Local and remote key: never equal, but on a wire where they are.
    using Keys = Wire::Keys;
    Keys add_memory(void* memory, std::size_t bytes);
    void remove_memory(std::uint32_t local_key);

    // What lies in the bell's register afterwards.
    void bell(std::uint32_t pair, std::uint64_t value);
    void arm(std::uint32_t queue, std::uint32_t consumed);

    // Each queue may do a little.
    Round round();

    // What it has refused, as sentences.
    std::vector<std::string> refusals() const;
    // What its queues hold, a line each: for who finds that it has stopped.
    std::string describe() const;
    // How many completions the queue has got, from its first index on.
    std::uint32_t completions(std::uint32_t queue) const;
    // How many requests have run.
    std::uint64_t requests() const;

  private:
    struct Completions;
    struct Pair;
    struct Pending;
    struct Message;
    struct Received;
    struct Memory {
        std::byte* begin = nullptr;
        std::size_t bytes = 0;
        Keys keys;
    };

    template <typename Queues>
    std::uint32_t new_number(const Queues& queues);
    bool chance(unsigned in);  // one in so many
    void refuse(const Pair& pair, std::uint16_t index, Refusal refusal, const std::string& more = "");

    std::byte* local(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const;
    std::byte* remote(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const;

    void fetch(Pair& pair, std::uint16_t end);
    Round execute(Pair& pair);
    bool start_message(Pair& pair, const Request& request, Refusal& refusal);
    bool wait_is_over(const Request& request, Refusal& refusal) const;
    Refusal enable_sends(const Request& request);
    Refusal enable_receives(const Request& request);
    void fail(Pair& pair, std::uint16_t index, std::uint32_t blocks, std::uint8_t opcode, Refusal refusal,
              const std::string& more = "");
    Round transmit(Pair& pair);
    Round receive(Pair& pair);
    void take(Pair& pair, const Packet& packet, const std::vector<std::byte>& payload);
    void take_answer(Pair& pair, const Packet& packet);
    bool claim_receive(Pair& pair);
    void refuse_message(Pair& pair, Refusal refusal, std::uint8_t own_syndrome, std::uint8_t peers_syndrome);
    // `offset`: of what is not ready, from where the message is sent again.
    void answer(Pair& pair, PacketKind kind, std::uint32_t message, std::uint8_t syndrome = 0,
                std::uint64_t offset = 0);
    void send_answers(Pair& pair);
    Round exchange_with_wire();
    void take_sent(Pair& pair, const Wire::Done& done);
    void take_received(Pair& pair, const Wire::Done& done);
    Round retire(Pair& pair);
    Round retire_receive(Pair& pair);
    void flush(Pair& pair);
    void complete_request(const Pair& pair, const Pending& done, std::uint8_t syndrome);
    void complete_receive(const Pair& pair, const Received& done);
    void write_completion(std::uint32_t queue, const std::byte* entry, std::uint8_t opcode);
    std::uint16_t receives_posted(const Pair& pair) const;

    std::shared_ptr<Network> network_;
    Rules rules_;
    std::unique_ptr<Wire> wire_;
    std::uint32_t card_;
    mutable std::mutex lock_;
    std::mt19937_64 random_;
    std::map<std::uint32_t, std::unique_ptr<Completions>> completions_;
    std::map<std::uint32_t, std::unique_ptr<Pair>> pairs_;
    std::vector<Pair*> order_;
    std::map<std::uint32_t, Memory> memory_;         // by local key
    std::map<std::uint32_t, std::uint32_t> remote_;  // remote key to local key
    std::vector<std::string> refusals_;
    std::uint64_t requests_ = 0;
};

}  // namespace lapwing::mlx5_double
