// Messages between the ranks of one host, through memory that they share.
//
// The processes of a job exchange their addresses by some other way. The lowest rank of each host has made
// the memory, without a name; the others open it under /proc, which lets in processes of the same user only,
// and believe that it is the one when it begins with what its maker's address says. Short messages are copied
// through it without a system call. Long ones are announced. Up to 2 MiB they pass through the shared memory
// in pieces while both sides look; what the sender leaves, and still longer ones, are copied once, straight
// from one process' memory to the other's, by whoever of the two has time, unless the system forbids that.
//
// A send is done with, for a short message, when it returns; for a long one nobody but its receiver need do
// anything.
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
#include "links/shm/transfer_choice.hpp"

namespace lapwing::shm {

// What a process tells the others. Plain bytes of a fixed size, to be sent by an allgather.
struct ShmAddress {
    std::uint64_t host = 0;  // equal for processes on one host
    std::uint64_t process_space = 0;
    std::uint64_t probe = 0;  // address of `proof` in the process' memory
    std::int32_t process = 0;
    std::int32_t descriptor = -1;  // of the memory that it has made; -1: of none
    unsigned char proof[16] = {};
};
static_assert(std::is_trivially_copyable_v<ShmAddress>);

// How a long message travels between two ranks.
enum class TransferMethod {
    automatic,  // whichever was faster so far between the two ranks (TransferChoice); where the kernel may
                // not, by the processor
    processor,  // in pieces through the shared memory
    kernel,     // copied once, by process_vm_readv and process_vm_writev
};

// One process among those of its host. Everything of it is used by one thread at a time, unless it is shared.
class ShmNode {
  public:
    // Makes the memory, for a job of `ranks`. Never throws: join() says what is wrong.
    explicit ShmNode(int ranks, TransferMethod method = TransferMethod::automatic);
    ~ShmNode();
    ShmNode(const ShmNode&) = delete;
    ShmNode& operator=(const ShmNode&) = delete;

    const ShmAddress& address() const;
    // `addresses` of all ranks of the job, `self` the place of this one. Empty, or what is wrong: then nobody
    // in the job may use it. All ranks of the host must have joined before the first message.
    std::string join(std::span<const ShmAddress> addresses, int self);
    // All ranks of the host have joined: nobody else can.
    void admit_no_more();
    // Whether a rank of the job is on this host.
    bool intra_node(int rank) const;
    int ranks() const;  // on this host
    // Why long messages to and from some of the others here pass through the memory, in pieces; empty when
    // the kernel copies all of them.
    const std::string& why_in_pieces() const;

    // What both ways took for messages that this rank has received, by size; the mean of all ranks here that
    // it hears from. Empty where there was no choice.
    std::vector<TransferTimes> transfer_times() const;
    // Why long messages pass in pieces that the kernel has copied before; empty: it copies still.
    std::string copies_refused() const;

    // The link of one group: `members` are its ranks' places in the job, those that are intra_node() can be
    // reached; `group` is a number that only this group has, on all its ranks. The node must outlive it.
    std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members);

    // Sleeps until there may be news, or until the limit: true when there were. Not where it is shared.
    bool sleep(std::chrono::nanoseconds limit);
    // The same in two steps, where a lock guards the node. Under it: nothing when there are news.
    std::optional<std::uint32_t> prepare_to_sleep();
    // Then, without the lock, with what prepare_to_sleep() has said. While several threads are here, a ring
    // may wake one of them only: so the limit should be short.
    bool sleep_on(std::uint32_t seen, std::chrono::nanoseconds limit);

    // Lets several threads use it: the links that are made from now on, by any of them at once, and what
    // stands below. Once, after join(). One of the threads is a progress thread, who sleeps in place of all
    // others.
    void share();
    // Where the progress thread also waits for what is not of this node, it sleeps in poll(), at this pipe
    // among others, and not by sleep_since(). After join(); the pipe outlives the node.
    void sleep_at(const WakePipe& pipe);
    // When all ranks of the host have said where they sleep, and before the first message. Empty, or what is
    // wrong: then nobody in the job may use it.
    std::string reach_sleepers();
    // Moves all that is on its way, whoever has asked for it. Throws Error (link).
    void move_all();
    // Whether move_all(), or a test, might go on now; also when a message has completed since move_all()
    // began that nobody has tested.
    bool has_news();
    // What has completed until now is no news.
    void forget_completed();
    // Whether the other ranks ring for what they have; not at first. Who lets them looks for news afterwards:
    // what has come before does not ring.
    void let_ring(bool on);
    // How often it has rung. Who sleeps since then sleeps until it rings again, or until the limit; below
    // zero there is none.
    std::uint32_t rings() const;
    void sleep_since(std::uint32_t rings, std::chrono::nanoseconds limit);
    void ring_here();
    // From now on all transfers fail with `why`. By any thread.
    void give_up(const std::string& why);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// For people: "shared memory; ...", "no shared memory: ...". Both reasons may be empty.
std::string in_words(const std::string& why_none, const std::string& why_in_pieces);

// "64 KiB: pieces 2.1 us, not kernel 4.2 us"
std::string in_words(const TransferTimes& times);

// What two processes of this user can do here, tried out with a child process.
struct Survey {
    std::string shared_memory;         // a line for people
    std::vector<TransferTimes> times;  // of messages from 64 KiB to 8 MiB, where there is a choice
};
Survey survey(TransferMethod method = TransferMethod::automatic);

}  // namespace lapwing::shm
