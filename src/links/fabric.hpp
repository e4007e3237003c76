// A fabric: a network with messages of its own, reached through its library (UCX, libfabric), by one endpoint
// of each process. What the groups of a job make of it are links.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "links/link.hpp"
#include "links/tcp/options.hpp"

namespace lapwing {

// What an endpoint is opened with.
struct FabricOptions {
    int ranks = 1;  // of the job
    // Silence after which a peer is lost; 0: peers may be silent, since some have no thread that would
    // answer.
    std::chrono::seconds patience{10};
    // Only a transport with remote memory access will do. Where the machine has no device for one, the
    // library is not even loaded.
    bool rdma_only = false;
    // For networks that go by addresses of the Internet, and for what the kernels of silent peers answer.
    tcp::Options internet = {};
};

// What only the ranks of a job know, random. Where there is little room the first word must do.
using JobKey = std::array<std::uint64_t, 4>;

// Any thread may use it and its links, several at once.
class Fabric {
  public:
    // A rank of the job, as it told the others.
    struct Peer {
        std::vector<std::byte> address;
        std::string host;  // its name, for people
    };

    virtual ~Fabric() = default;
    virtual const char* name() const = 0;  // "ucx"
    // For people: library, device and transport, as "UCX 1.13.1, tcp on eth0".
    virtual std::string description() const = 0;
    // Whether the messages between hosts go by a transport that does not need the processor.
    virtual bool rdma() const = 0;

    // What the others need in order to reach this process: bytes for them alone, of any length.
    virtual std::vector<std::byte> address() const = 0;
    // `peers` are all ranks of the job, `self` the place of this one; once, before the first link. Connects
    // to nobody: peers are reached at the first message. What arrives without the key is not of this
    // job. Throws Error (link).
    virtual void join(std::vector<Peer> peers, int self, const JobKey& key) = 0;

    // The link of one group: `members` are its ranks' places in the job. No two groups that live at the same
    // time and share two ranks have the same `group`. The fabric outlives it. All transfers of a link fail
    // with the same reason once a peer of it is lost.
    virtual std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members) = 0;

    // For the progress thread. Moves what is on its way; true when something has moved. Does not throw:
    // transfers fail by their tests.
    virtual bool progress() = 0;
    // Whether transfers have completed, or failed, that nobody has tested, since forget_completed(). A thread
    // that tests a transfer of its own may take in what a list of the progress thread's waits for; that
    // thread is told of it then.
    virtual bool has_news() = 0;
    // What has completed until now is no news.
    virtual void forget_completed() = 0;
    // Before it sleeps. True: descriptor() becomes readable when progress() may go on; false: call progress()
    // first. Where there is no descriptor, always true.
    virtual bool prepare_to_sleep() = 0;
    // For poll() only; -1: the network cannot wake anybody.
    virtual int descriptor() const = 0;
    // How long a sleep may last, although nothing has become readable: what the network is known to forget.
    // Below zero: as long as it likes.
    virtual std::chrono::nanoseconds longest_sleep() = 0;

    // At the end of the job, before an agreement of all ranks after which nobody uses it: true when what was
    // sent has left this process. Call it until then.
    virtual bool flush() = 0;
    // From now on all transfers fail with `why`. By any thread.
    virtual void give_up(const std::string& why) = 0;
};

}  // namespace lapwing
