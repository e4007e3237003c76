// Work that a network does by itself when a counter reaches a threshold: libfabric's deferred work, which
// Slingshot's cards do without the processor. One endpoint of each process, which all groups share.
//
// Its rules are those of Slingshot's cards, whatever the provider would let pass: a write has one source and
// one target; each work waits for one counter; counters have 48 bits; entries are counted before they are
// used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lapwing {

struct DeferredWorkOptions {
    std::string provider = "cxi";  // of libfabric
    std::uint64_t entries = 0;     // trigger entries that this process may use; 0: what the provider says
    std::uint64_t counters = 0;    // counters that it may use; 0: what the provider says
    int sharers = 1;               // processes that share what the provider says: the job's on this host
    // As LAPWING_TCP_INTERFACE and LAPWING_TCP_FAMILY.
    std::string interfaces = "";
    std::string family = "auto";
};

// Any thread may use it.
class DeferredWork {
  public:
    // Rises only, but for set(). Outlives the works that name it.
    class Counter {
      public:
        virtual ~Counter() = default;
        // Throws Error (link) when a work has failed that it was to count.
        virtual std::uint64_t read() = 0;
        // Of works that were to be counted: those that have ended, also by a failure.
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
        std::uint64_t peer = 0;  // as reach() has named it
        std::uint64_t key = 0;
        std::uint64_t address = 0;
    };
    // What is queued; stays in place until it has happened.
    class Work {
      public:
        virtual ~Work() = default;
    };

    virtual ~DeferredWork() = default;
    virtual std::string description() const = 0;  // "libfabric 1.17.0, sockets on eth0"
    virtual std::uint64_t entries() const = 0;
    // Sets trigger entries aside, before works are queued that wait. False when there are too few. Some are
    // left for works that happen at once (`waits` is false), so that these always find some in the end.
    virtual bool reserve(std::uint64_t entries, bool waits) = 0;
    virtual void give_back(std::uint64_t entries) = 0;
    virtual std::uint64_t counters() const = 0;
    // Sets counters aside, as a group needs them. False when there are too few.
    virtual bool reserve_counters(std::uint64_t counters) = 0;
    virtual void give_back_counters(std::uint64_t counters) = 0;
    // What a threshold may be at most.
    virtual std::uint64_t max_counted() const = 0;

    // What peers need to reach this process.
    virtual std::vector<std::byte> address() const = 0;
    // Throws Error (link).
    virtual std::uint64_t reach(const std::vector<std::byte>& address) = 0;

    // Throw Error (system) when the network has no more.
    virtual std::unique_ptr<Counter> make_counter() = 0;
    // `raised` counts what is written there; null: nothing does.
    virtual std::unique_ptr<Region> expose(std::byte* memory, std::size_t bytes, Counter* raised) = 0;

    // When `trigger` reaches `threshold`; a threshold of 0 is reached already. `done` counts it afterwards.
    // Of works with one trigger and one threshold the first one queued happens first, and writes to one peer
    // land in the order in which they happen. Throw Error (link).
    virtual std::unique_ptr<Work> write(Counter& trigger, std::uint64_t threshold, const std::byte* source,
                                        std::size_t bytes, const Target& target, Counter& done) = 0;
    virtual std::unique_ptr<Work> add(Counter& trigger, std::uint64_t threshold, Counter& raised) = 0;
    // Keeps works that may not be done yet, because their peer has ended, and the counters that they name,
    // until the network closes.
    virtual void keep(std::vector<std::unique_ptr<Work>> works,
                      std::vector<std::unique_ptr<Counter>> counters) = 0;

    // How often this process has called libfabric's functions for it: reading a counter, too.
    virtual std::uint64_t calls() const = 0;
};

// Throws Error (unsupported, system) with the reason why there is none, for people.
std::unique_ptr<DeferredWork> open_deferred_work(const DeferredWorkOptions& options);

}  // namespace lapwing
