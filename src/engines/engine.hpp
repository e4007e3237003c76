// The seam between a job and the engines that run its task lists (task/list.hpp): one rank's part of a
// collective.
//
// An engine is opened in three steps, each by an object of its own:
//   Engine       what this build and this machine offer; one object per process, see catalogue.hpp
//   JobEngine    what the engine owns once per job: an endpoint, a network, a device
//   GroupEngine  what it owns once per group; it prepares lists
// Everything that only one engine needs, its settings included, is in that engine's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/floating_point.hpp"
#include "base/settings.hpp"
#include "base/verdict.hpp"
#include "links/link.hpp"
#include "task/list.hpp"

namespace lapwing {

class Job;
class ProgressThread;

// The caller's own reduction function: Operator::user.
class Reducer {
  public:
    virtual ~Reducer() = default;
    // target = source op target, for whole elements. Only threads of the caller call it, inside start, test
    // and progress. The reducer keeps an error to itself until the run is complete, because peers wait for
    // the rest of the list.
    virtual void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept = 0;
};

// The caller's memory for one run of a list. Must stay in place until the run is complete.
struct Buffers {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    Reducer* reducer = nullptr;  // for lists that reduce by Operator::user
    // The number of this run's collective in a trace; 0: none. 64 bits, although 32 would do: then Buffers is
    // copied in whole words, which saves 5 ns in each start.
    std::uint64_t operation = 0;
    // Where the program has called, for engines that learn from earlier runs; null: unknown.
    const void* call_site = nullptr;
    // Of the thread that started the run, for reductions by threads of Lapwing. Null: by their own.
    ProgramFloatingPoint* floating_point = nullptr;
};

// One run of a list, from start to completion. Its Prepared owns it.
class Operation {
  public:
    virtual ~Operation() = default;
    // How often the progress thread was woken for this run; valid right after the test that completed it.
    std::uint64_t wake_ups = 0;
};

// A list made ready for one engine and one group: built once, started any number of times, also while
// earlier starts are still in flight (each on a channel of its own). Not thread-safe.
class Prepared {
  public:
    virtual ~Prepared() = default;

    // Never blocks on a peer. Throws Error (link, system).
    virtual Operation* start(const Buffers& buffers, std::uint32_t channel) = 0;
    // Advances the run as far as possible. Returns true if the run is complete; the operation is released
    // then and must not be used again. Throws Error (link); the operation is released then, too.
    virtual bool test(Operation* operation) = 0;
    // As test(), for a caller that has nothing else to do: may do work that was meant for an engine's thread.
    virtual bool progress(Operation* operation) { return test(operation); }
    // Call it before the caller sleeps: the run advances without the caller. Returns a descriptor that
    // becomes readable when the run has advanced, for poll() only; the engine owns it. Returns -1 if there is
    // none: test again.
    virtual int prepare_to_sleep(Operation*) { return -1; }

    // Where a run is in its list.
    struct Position {
        // Index of the first task that is not complete. An engine that runs tasks at the same time counts its
        // own steps here instead.
        std::uint64_t task = 0;
        std::uint64_t tasks = 0;
        std::vector<int> awaited;  // peers whose messages that task needs
    };
    // The position of a run in flight, for people. Empty if the engine does not report it.
    virtual std::optional<Position> position(Operation*) { return std::nullopt; }

    // Persistent collectives: every start of a persistent list uses one channel, and ranks may start
    // different persistent lists in different orders. An engine may have to set something aside for the
    // channel, and all ranks must succeed or none. So the ranks call offer(), agree, and call accept() or
    // release_channel(), in the same order on all ranks.

    // These three do nothing unless GroupEngine::needs_agreement().

    // Sets aside what the list needs to be started on the persistent channel `channel`. An engine may have
    // several *lanes*, such as connections, for persistent lists: returns those that this rank cannot use for
    // this list, as a bit mask (bit i: lane i). All bits set: this rank cannot run the list at all.
    virtual std::uint32_t offer([[maybe_unused]] std::uint32_t channel) { return 0; }
    // Called when all ranks can use `lane`, the lowest of all such lanes. Returns the channel of all starts.
    virtual std::uint32_t accept(std::uint32_t channel, [[maybe_unused]] int lane) { return channel; }
    // Releases what was set aside: for the channel that accept() returned; or that was offered, if the ranks
    // did not agree.
    virtual void release_channel([[maybe_unused]] std::uint32_t channel) {}
};

// How a list reaches intra-node peers. Equal on all ranks.
enum class Inside {
    by_memory,  // through EngineGroup::intra_node
    by_engine,  // like all other peers
};

// How a list will be run.
struct ListUse {
    Inside inside = Inside::by_memory;
    // Every start uses the same channel and the same `out`.
    bool persistent = false;

    bool operator==(const ListUse&) const = default;
};

// What a group of ranks offers to its engines. All of it outlives the engines' objects.
struct EngineGroup {
    std::uint64_t number = 1;  // equal on all ranks; no other group of the job has it
    int rank = 0;              // of this process, in the group
    // The ranks of the group, by their ranks in the job.
    std::vector<int> members = {};
    Link* messages = nullptr;  // reaches all peers
    // Another link, to the peers of the same host alone, for engines that reach the other peers by
    // themselves. Null if there are none, or if `messages` reaches intra-node peers only. Other threads than
    // the program's may use it only after ProgressThread::ensure_started().
    Link* intra_node = nullptr;
    std::vector<bool> intra_node_peers = {};  // by rank; empty: none
    // The thread that advances lists while the program computes; of lists on `messages` only where any thread
    // may use that link. May not have started. Null if there is none.
    ProgressThread* progress_thread = nullptr;
};

// Builds the list of one rank.
using ListOf = std::function<List(int rank)>;

// An engine at work for one group, with what it keeps across that group's lists. Not thread-safe.
class GroupEngine {
  public:
    virtual ~GroupEngine() = default;
    // Whether the ranks must agree before they start a persistent list: see Prepared::offer().
    virtual bool needs_agreement() const { return false; }
    // Decides whether the engine runs the lists of this problem, which `list_of` builds, and reserves what
    // they need of what the group may still use. Equal on all ranks, which admit the same problems in the
    // same order; an admitted problem stays admitted. `problem` may have the parts of this rank alone;
    // `list_of` knows those of all ranks where one rank's parts give them.
    virtual Verdict admit([[maybe_unused]] const Problem& problem, [[maybe_unused]] const ListOf& list_of,
                          const ListUse&) {
        return Verdict::yes();
    }
    // `problem` must have been admitted, and Engine::supports(list).
    virtual std::unique_ptr<Prepared> prepare(const Problem& problem, List list, const ListUse& use) = 0;
};

// What a group has set aside of something that a job has only so much of. Its destructor releases it.
class Reservation {
  public:
    virtual ~Reservation() = default;
    // A number of this rank below INT64_MAX, and the maximum of all ranks' numbers. The group of all ranks
    // does not agree.
    virtual std::uint64_t claim() const { return 0; }
    virtual void agreed([[maybe_unused]] std::uint64_t maximum) {}
    // After agreed(), equal on all ranks: whether to open the engine takes longer than a short collective
    // gains by it, so that another engine had better run the first ones.
    virtual bool is_costly() const { return false; }
};

// An engine at work in one job.
class JobEngine {
  public:
    virtual ~JobEngine() = default;
    // For people, what the engine reaches other hosts by: "sockets on eth0"; empty: by the group's links.
    virtual std::string description() const { return ""; }
    // Sets aside what a group of these ranks of the job needs, on this rank alone. Returns null if too little
    // is left; then no rank of that group may open() the engine for it. The first call is for the group of
    // all ranks.
    virtual std::unique_ptr<Reservation> reserve([[maybe_unused]] const std::vector<int>& members) {
        return std::make_unique<Reservation>();
    }
    // `reserved` is what reserve() returned for the group; all ranks have one. Throws Error (system).
    virtual std::unique_ptr<GroupEngine> open(const EngineGroup& group,
                                              std::unique_ptr<Reservation> reserved) = 0;
    // For people: what the engine has chosen by measurement in this job so far, a sentence each.
    virtual std::vector<std::string> choices() const { return {}; }
    // All operations of all groups fail with `why`: those in flight, and those of groups that are opened
    // later. By any thread.
    virtual void fail([[maybe_unused]] const std::string& why) {}
};

class Engine {
  public:
    virtual ~Engine() = default;
    virtual const char* name() const = 0;
    virtual const char* summary() const = 0;
    // Whether this machine can run the engine at all.
    virtual Verdict available() const = 0;
    // The network between hosts that the engine itself uses, as LAPWING_NETWORK names it: "tcp". Empty: it
    // uses the group's links, or something of its own beside them.
    virtual const char* network() const { return ""; }
    // Whether "auto" tries the engine if all ranks share memory, which is faster than a network.
    virtual bool suits_one_host() const { return false; }
    // Whether the engine serves only jobs that name it.
    virtual bool only_by_name() const { return false; }
    // Throws Error (invalid_argument) if one of the engine's own variables has an invalid value.
    virtual void check(const Settings&) const {}
    // Environment variables that a launcher sets for a job that names the engine, unless the user has set
    // them: names and values.
    virtual std::vector<std::pair<std::string, std::string>> environment(const Settings&) const { return {}; }
    // Whether the engine can run this list. Equal on all ranks.
    virtual Verdict supports(const List& list) const = 0;
    // Collective over the job. Throws Error with a reason that is equal on all ranks (see Job::together).
    virtual std::unique_ptr<JobEngine> open(Job& job) const = 0;
};

}  // namespace lapwing
