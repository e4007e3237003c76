// Messages between the ranks of one host, through memory that they share.
//
// The processes of a job exchange their addresses by some other way. The lowest rank of each host has made
// the memory, without a name. The others open it under /proc, which admits only processes of the same user,
// and check that it begins with the proof in its maker's address. Short messages are copied through it
// without a system call. Long messages are offered. Up to 2 MiB they pass through the shared memory in pieces
// while both sides take part; what the sender leaves, and longer messages, are copied once, from one process'
// memory to the other's, by whichever side has time, unless the system forbids that.
//
// The send of a short message is complete when it returns; a long message needs only its receiver.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "links/event/wake_pipe.hpp"
#include "links/link.hpp"
#include "links/shm/memory.hpp"
#include "links/shm/protocol.hpp"
#include "links/shm/transfer_choice.hpp"

namespace lapwing::shm {

// What a process sends to the others. Plain bytes of a fixed size, for an allgather.
struct ShmAddress {
    std::uint64_t host = 0;  // equal for processes on one host
    std::uint64_t process_space = 0;
    std::uint64_t probe = 0;  // address of `proof` in the process' memory
    std::int32_t process = 0;
    std::int32_t descriptor = -1;  // of the memory that the process has made; -1: none
    unsigned char proof[16] = {};
};
static_assert(std::is_trivially_copyable_v<ShmAddress>);

// How a long message travels between two ranks.
enum class TransferMethod {
    automatic,  // whichever was faster so far between the two ranks (TransferChoice); by the processor if the
                // kernel may not copy
    processor,  // in pieces through the shared memory
    kernel,     // copied once, by process_vm_readv and process_vm_writev
};

// One process among those of its host. Not thread-safe before share().
class ShmNode {
  public:
    // Makes the memory, for a job of `ranks`. Never throws: join() reports what is wrong.
    explicit ShmNode(int ranks, TransferMethod method = TransferMethod::automatic);

    const ShmAddress& address() const { return address_; }
    // `addresses` of all ranks of the job, `self` this rank in the job. Returns what is wrong, or an empty
    // text. If it fails on one rank, no rank of the job may use its node. All ranks of the host must have
    // joined before the first message.
    std::string join(std::span<const ShmAddress> addresses, int self);
    // All ranks of the host have joined: no other process can.
    void admit_no_more() { memory_.close(); }
    // Whether a rank of the job is on this host.
    bool intra_node(int rank) const {
        return protocol_ != nullptr && local_ranks_[static_cast<std::size_t>(rank)] >= 0;
    }
    int ranks() const { return ranks_; }  // on this host
    // Why long messages to and from some ranks here pass through the memory in pieces; empty if the kernel
    // copies all of them.
    const std::string& why_in_pieces() const { return why_in_pieces_; }

    // Times of both ways for messages that this rank has received, by size; means over all ranks here that
    // have sent some. Empty if there was no choice.
    std::vector<TransferTimes> transfer_times() const;

    // The link of one group. `members`: its ranks in the job; those that are intra_node() can be reached.
    // `group`: a number that only this group has, on all its ranks. The node must outlive the link.
    std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members);

    // Sleeps until something may have arrived, or until the limit. Returns true if something has. Not after
    // share().
    bool sleep(std::chrono::nanoseconds limit) { return protocol_->sleep(static_cast<long>(limit.count())); }
    // The same in two steps, for callers with a lock. Under it; returns nothing if something has arrived.
    std::optional<std::uint32_t> prepare_to_sleep() { return protocol_->prepare_to_sleep(); }
    // Without it; `seen`: what prepare_to_sleep() has returned. If several threads sleep, a ring may wake
    // only one of them: the limit should be short.
    bool sleep_on(std::uint32_t seen, std::chrono::nanoseconds limit) {
        return protocol_->sleep_on(seen, static_cast<long>(limit.count()));
    }

    // Lets several threads use the links that are made from now on, and the functions below. Call it once,
    // after join(). One of the threads is a progress thread, which sleeps in place of all others.
    void share() {
        shared_ = true;
        protocol_->share();
    }
    // The same for a thread that comes later, beside links that exist. Those made from now on still return
    // false by any_thread(): only who knows of that thread may use it. No other thread may use the node
    // meanwhile.
    void share_late() { protocol_->share(); }
    // The progress thread sleeps in poll(), at this pipe among others, and not by sleep_since(). After
    // join(); the pipe must outlive the node.
    void sleep_at(const WakePipe& pipe) { protocol_->sleep_at_pipe(pipe.writer()); }
    // After all ranks of the host have called sleep_at(), and before the first message. Returns what is
    // wrong, or an empty text; see join().
    std::string reach_sleepers();
    // Advances all transfers of all threads. Throws Error (link).
    void move_all();
    // Whether move_all() or a test might advance now, or there are completions since move_all() began that no
    // thread has seen.
    bool has_events();
    // Marks all completions as seen.
    void forget_completed();
    // Whether the other ranks ring when they have something for this rank; not at first. The caller of
    // let_ring(true) must call has_events() afterwards: what has arrived before does not ring.
    void let_ring(bool on) { protocol_->let_ring(on); }
    // How often the doorbell has rung; sleep_since() sleeps until it rings again, or until the limit;
    // negative: without limit.
    std::uint32_t rings() const { return protocol_->rings(); }
    void sleep_since(std::uint32_t rings, std::chrono::nanoseconds limit) {
        protocol_->sleep_since(rings, static_cast<long>(limit.count()));
    }
    void ring_here() { protocol_->ring_here(); }
    // From now on all transfers fail with `why`. By any thread.
    void give_up(const std::string& why) {
        if (protocol_ != nullptr) protocol_->give_up(why);
    }

  private:
    const TransferMethod method_;
    ShmAddress address_;
    std::string trouble_;  // why there is no memory
    Memory memory_;
    std::vector<int> local_ranks_;  // by rank of the job; -1: on another host
    int ranks_ = 0;
    std::string why_in_pieces_;
    std::unique_ptr<Protocol<Linux>> protocol_;
    std::vector<Descriptor> pipes_;  // that wake the others
    bool shared_ = false;
};

// "shared memory; ...", "no shared memory: ...". Both reasons may be empty.
std::string in_words(const std::string& why_none, const std::string& why_in_pieces);

// "64 KiB: pieces 2.1 us, not kernel 4.2 us"
std::string in_words(const TransferTimes& times);

// What two processes of this user can do here, tried with a child process.
struct Survey {
    std::string shared_memory;         // in words
    std::vector<TransferTimes> times;  // of messages from 64 KiB to 8 MiB, if there is a choice
};
Survey survey(TransferMethod method = TransferMethod::automatic);

}  // namespace lapwing::shm
