// Who runs a list. Every engine answers this interface, in files of the same names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/verdict.hpp"
#include "links/connections.hpp"
#include "links/deferred_work.hpp"
#include "links/link.hpp"
#include "task/list.hpp"

namespace lapwing {

class ProgressThread;
struct WorkVariant;
namespace mlx5 {
class Device;
}

// The caller's own reduction function: Operator::user.
class Reducer {
  public:
    virtual ~Reducer() = default;
    // target = source op target, of whole elements. Called by threads of the caller only, inside start, test
    // and progress. What it cannot do it keeps to itself until the run is complete: peers wait for the rest
    // of the list.
    virtual void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept = 0;
};

// The caller's memory for one run of a list. Stays in place until the run is complete.
struct Buffers {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    Reducer* reducer = nullptr;  // where the list reduces by Operator::user
    // The number of this run's collective in a trace; 0: none. 64 bits, so that a copy has no odd end: 5 ns.
    std::uint64_t operation = 0;
};

// For which lists the event thread of the connections does copies and reductions while the program computes.
enum class EventThreadWork {
    none,
    long_lists,  // what is hidden of a short one is less than it costs to wake the thread
    all,
};

// How engines shall use what a group provides.
struct EngineOptions {
    EventThreadWork event_thread_work = EventThreadWork::none;
    // The event thread hands lists to the kernel, so that the kernel does not interrupt a thread of the
    // program.
    bool event_thread_submits = false;
    // So many of the connections' lanes, the last ones, are for kept channels (link.hpp): channel
    // first_kept_channel + i has lane i of them. The others are taken in turn.
    int kept_lanes = 0;
    // So many bytes wait in a socket for a receiver that does something else.
    std::uint64_t socket_bytes = 131072;
    // Of deferred work: trigger entries that a list may take, counters that the group may take, and bytes of
    // a list from one rank to another; equal on all ranks.
    std::uint64_t trigger_entries = 0;
    std::uint64_t trigger_counters = 0;
    std::uint64_t kept_trigger_counters = 0;  // and those that lists may take that keep their buffers
    std::uint64_t trigger_bytes = 32768;
    // Which work queues a card gets (engines/mlx5/work_queues.hpp); null: as the card can.
    const WorkVariant* card_variant = nullptr;
};

// What a group provides for its engines. All of it outlives what engines make with it.
struct EngineContext {
    Link* messages = nullptr;            // to all peers
    Connections* connections = nullptr;  // stream sockets; null: the group has none
    // A link of its own to the peers of the same host (`intra_node_peers`, by rank; empty: there are none),
    // for engines that reach the others by `connections`. Of two ranks either both are intra-node peers of
    // each other or neither. Used by threads of the program only, inside start, test, progress and
    // prepare_to_sleep.
    Link* intra_node = nullptr;
    std::vector<bool> intra_node_peers = {};
    // What the network does by itself; null: nothing. By it, too, every peer is reached.
    DeferredWork* deferred_work = nullptr;
    // Runs lists while the program computes, where any thread may use `messages`; null: nobody does.
    ProgressThread* progress_thread = nullptr;
    // Each list keeps its channel, and its out, for all its starts, and ranks may start different lists in
    // different orders: persistent collectives.
    bool kept = false;
    // A card that runs lists, where all ranks of the group have one; null: there is none.
    mlx5::Device* card = nullptr;
    EngineOptions options = {};
};

// One run of a list, from start to completion. Belongs to its Prepared.
class Operation {
  public:
    virtual ~Operation() = default;
    // How often the progress thread has been woken for the last run that is complete; right after its test.
    std::uint64_t wake_ups = 0;
};

// A list made ready for one engine and one link: built once, started any number of times, also while
// earlier starts are still in flight (each on a channel of its own). Not thread-safe.
class Prepared {
  public:
    virtual ~Prepared() = default;

    // Never blocks on a peer.
    virtual Operation* start(const Buffers& buffers, std::uint32_t channel) = 0;
    // Moves the run as far as it goes now. True when it is complete; the operation is given back then and
    // must not be used again. Throws Error (link), and the operation is given back, too.
    virtual bool test(Operation* operation) = 0;
    // As test(), by a caller that has nothing else to do: it may do work that was given to another.
    virtual bool progress(Operation* operation) { return test(operation); }
    // Of a list that is started on kept channels: sets aside what all starts on this one take. False where
    // there is too little. Ranks may differ: the caller makes them agree, or gives it up, and does not start
    // it then.
    virtual bool keep(std::uint32_t channel) {
        static_cast<void>(channel);
        return true;
    }
    virtual void give_up(std::uint32_t channel) { static_cast<void>(channel); }
    // Before a caller sleeps: lets the run go on without it, and gives back a descriptor that becomes
    // readable when it has gone on. -1: there is none, ask again. poll() it only; it stays the engine's.
    virtual int prepare_to_sleep(Operation* operation) {
        static_cast<void>(operation);
        return -1;
    }
};

// How a list reaches intra-node peers, where there are any: the same on all ranks.
enum class Inside {
    by_memory,  // through EngineContext::intra_node, by the threads of the program
    by_engine,  // as all others
};

// An engine at work for one group, with what it keeps across that group's lists. Not thread-safe.
class GroupEngine {
  public:
    virtual ~GroupEngine() = default;
    // As Engine::accepts(), and whether the group has enough left of what its lists keep; if so, it is set
    // aside. Equal on all ranks, which ask for the same problems in the same order, and the same when it is
    // asked again.
    virtual Verdict admits(const Problem& problem, const std::function<List(int)>& list_of) {
        static_cast<void>(problem);
        static_cast<void>(list_of);
        return Verdict::yes();
    }
    // Of a problem that it admits. `list` need not outlive the result; what the engine's context names must.
    virtual std::unique_ptr<Prepared> prepare(const List& list, Inside inside = Inside::by_memory) = 0;
};

// What a group must provide for an engine, beside a link to all peers.
enum class EngineNeeds {
    nothing,
    connections,  // EngineContext::connections: each group takes descriptors, and persistent collectives keep
                  // lanes
    deferred_work,  // EngineContext::deferred_work
    card,           // EngineContext::card
};

class Engine {
  public:
    virtual ~Engine() = default;
    virtual const char* name() const = 0;
    virtual const char* summary() const = 0;
    // Whether this machine lets it run at all.
    virtual Verdict available() const = 0;
    virtual EngineNeeds needs() const = 0;
    // Whether "auto" tries it where all ranks share memory.
    virtual bool suits_one_host() const = 0;
    // Whether it serves only who names it: no machine is worse off without it.
    virtual bool only_by_name() const { return false; }
    // Whether it can run this list. Said before anything starts, and equal on all ranks.
    virtual Verdict supports(const List& list) const = 0;
    // The same of a problem with the lists of all its ranks, which `list_of` builds. For engines that decline
    // lists for what only some ranks see in theirs.
    virtual Verdict accepts(const Problem& problem, const std::function<List(int)>& list_of,
                            const EngineOptions& options) const {
        static_cast<void>(problem);
        static_cast<void>(list_of);
        static_cast<void>(options);
        return Verdict::yes();
    }
    // Whether the engine is available with what the context has. Equal on all ranks, too.
    virtual Verdict fits(const EngineContext& context) const = 0;
    // For a context that fits. Throws Error (system).
    virtual std::unique_ptr<GroupEngine> open(const EngineContext& context) const = 0;
};

}  // namespace lapwing
