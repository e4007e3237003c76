// Work that a network does by itself when a counter reaches a threshold: libfabric's deferred work, which
// Slingshot's cards do without the processor. All groups of a process share one endpoint.
//
// The rules are those of Slingshot's cards, also for other providers: a write has one source and one target;
// each work waits for one counter; counters have 48 bits; entries are reserved before they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lapwing {

struct DeferredWorkOptions {
    std::string provider = "cxi";  // of libfabric
    std::uint64_t entries = 0;     // trigger entries that this process may use; 0: as the provider reports
    std::uint64_t counters = 0;    // counters that it may use; 0: as the provider reports
    int sharers = 1;               // processes of the job on this host: they share what the provider reports
    // As LAPWING_TCP_INTERFACE and LAPWING_TCP_FAMILY.
    std::string interfaces = "";
    std::string family = "auto";
};

// Thread-safe.
class DeferredWork {
  public:
    // Only set() may decrease it. Must outlive the works that refer to it.
    class Counter {
      public:
        virtual ~Counter() = default;
        // Throws Error (link) if a work that it counts has failed.
        virtual std::uint64_t read() = 0;
        // How many of the works that it counts have ended, failures included.
        virtual std::uint64_t ended() = 0;
        virtual void add(std::uint64_t value) = 0;
        virtual void set(std::uint64_t value) = 0;
    };
    // Memory of this process that peers write into.
    class Region {
      public:
        virtual ~Region() = default;
        virtual std::uint64_t key() const = 0;
        virtual std::uint64_t address() const = 0;  // of its first byte, for peers
    };
    struct Target {
        std::uint64_t peer = 0;  // from reach()
        std::uint64_t key = 0;
        std::uint64_t address = 0;
    };
    // Work that is queued. Must not be destroyed before it has happened, or the network has stopped.
    class Work {
      public:
        virtual ~Work() = default;
    };

    virtual ~DeferredWork() = default;
    virtual std::string description() const = 0;  // "libfabric 1.17.0, sockets on eth0"
    virtual std::uint64_t entries() const = 0;
    // Reserves trigger entries. Returns false if there are too few. Works that wait (`waits`) must leave some
    // entries for works that happen at once, which therefore always find some in the end.
    virtual bool reserve(std::uint64_t entries, bool waits) = 0;
    virtual void give_back(std::uint64_t entries) = 0;
    virtual std::uint64_t counters() const = 0;
    // Reserves counters for a group. Returns false if there are too few.
    virtual bool reserve_counters(std::uint64_t counters) = 0;
    virtual void give_back_counters(std::uint64_t counters) = 0;
    // The largest threshold.
    virtual std::uint64_t max_counted() const = 0;

    // What peers need to reach this process.
    virtual std::vector<std::byte> address() const = 0;
    // The number of the peer with this address. Throws Error (link).
    virtual std::uint64_t reach(const std::vector<std::byte>& address) = 0;

    // Throw Error (system) if the network has no more counters or regions.
    virtual std::unique_ptr<Counter> make_counter() = 0;
    // `raised` counts the writes into the region; may be null.
    virtual std::unique_ptr<Region> expose(std::byte* memory, std::size_t bytes, Counter* raised) = 0;

    // Queues a work that happens when `trigger` reaches `threshold`; `done` counts it afterwards. A threshold
    // of 0 is always reached. Works with the same trigger and threshold happen in the order in which they
    // were queued; writes to one peer land in the order in which they happen. Throw Error (link).
    virtual std::unique_ptr<Work> write(Counter& trigger, std::uint64_t threshold, const std::byte* source,
                                        std::size_t bytes, const Target& target, Counter& done) = 0;
    virtual std::unique_ptr<Work> add(Counter& trigger, std::uint64_t threshold, Counter& raised) = 0;
    // Takes works that may not have happened, because their peer has ended, and their counters, until the
    // network closes.
    virtual void keep(std::vector<std::unique_ptr<Work>> works,
                      std::vector<std::unique_ptr<Counter>> counters) = 0;

    // Ends all transfers of this process: what waits will not happen, and no work is queued any more. Works,
    // their counters and the memory that they use may then be destroyed.
    virtual void stop() = 0;

    // How often this process has called libfabric for deferred work, reads of counters included.
    virtual std::uint64_t calls() const = 0;
};

// Throws Error (unsupported, system) with the reason if the network has no deferred work.
std::unique_ptr<DeferredWork> open_deferred_work(const DeferredWorkOptions& options);

}  // namespace lapwing
