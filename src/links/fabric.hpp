// A fabric: a network with messages of its own, by one endpoint of each process. The groups of a job use it
// through links.
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

namespace tcp {
class Endpoint;
}

struct FabricOptions {
    int ranks = 1;  // of the job
    // Accepts only a transport with remote memory access. On a machine without a device for it the library is
    // not loaded.
    bool rdma_only = false;
    // Short messages are written into the receiver's memory (links/inboxes.hpp), where the library can; else
    // they are sent as all others.
    bool puts = false;
    // For networks over the Internet protocols, and for questions to the kernels of peers.
    tcp::Options internet = {};
    // For "tcp", which cannot be joined without: the job's, joined with all ranks. Outlives the fabric.
    tcp::Endpoint* sockets = nullptr;
};

// Random; known only to the ranks of a job. A fabric with little room uses the first word alone.
using JobKey = std::array<std::uint64_t, 4>;

// Thread-safe, as are its links.
class Fabric {
  public:
    // A rank of the job.
    struct Peer {
        std::vector<std::byte> address;
        std::string host;  // its name, for messages
    };

    virtual ~Fabric() = default;
    virtual const char* name() const = 0;  // "ucx"
    // Library, device and transport: "UCX 1.13.1, tcp on eth0".
    virtual std::string description() const = 0;
    // Whether inter-node messages need no processor.
    virtual bool rdma() const = 0;

    // What the other ranks need to reach this process.
    virtual std::vector<std::byte> address() const = 0;
    // `peers`: all ranks of the job; `self`: this rank. Must be called once, before the first link. Does not
    // connect: a peer is reached with the first message. Messages without the key are dropped. Throws Error
    // (link).
    virtual void join(std::vector<Peer> peers, int self, const JobKey& key) = 0;

    // The link of one group. `members`: its ranks in the job. Two groups that exist at the same time and
    // share two ranks must have different numbers `group`. The fabric must outlive the link. Once a peer of
    // the group is lost, all transfers of the link fail with the same reason.
    virtual std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members) = 0;

    // For the progress thread. Advances all transfers; returns true if something has moved. Does not throw:
    // failures are reported by tests.
    virtual bool progress() = 0;
    // Whether transfers have completed or failed, since forget_completed(), that no thread has tested. A
    // thread that tests a transfer of its own may also complete one that the progress thread waits for.
    virtual bool has_events() = 0;
    // Marks all completions as seen.
    virtual void forget_completed() = 0;
    // Before a sleep. True: descriptor() becomes readable when progress() may advance; false: call progress()
    // first. Always true without a descriptor.
    virtual bool prepare_to_sleep() = 0;
    // For poll() only; -1: the network cannot wake a thread.
    virtual int descriptor() const = 0;
    // The limit of a sleep, since some networks lose wake-ups. Negative: no limit.
    virtual std::chrono::nanoseconds max_sleep() = 0;

    // At the end of the job, before all ranks agree that no rank uses the fabric any more: returns true when
    // all that was sent has left this process. Call it until then.
    virtual bool flush() = 0;
    // From now on all transfers fail with `why`. By any thread.
    virtual void give_up(const std::string& why) = 0;
};

}  // namespace lapwing
