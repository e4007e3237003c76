// Plans of one group: the planner chooses an algorithm and an engine for a problem once, and keeps the
// prepared list for the next time.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "plan/memcheck.hpp"
#include "plan/selection.hpp"
#include "task/problem.hpp"

namespace lapwing {

// On which channels a plan is started.
enum class Starts {
    anew,              // each start on another channel
    persistent,        // all on one channel, see Prepared::offer()
    persistent_alone,  // the same, by an engine whose ranks need not agree
};

struct Plan {
    Problem problem;
    Starts starts = Starts::anew;
    Choice choice;
    const Engine* engine = nullptr;
    std::unique_ptr<Prepared> prepared;
    std::uint64_t tasks = 0;
    std::uint64_t bytes_sent = 0;    // to other ranks, in one run
    int in_flight = 0;               // runs started and not complete; counted by the caller
    std::uint32_t trace_number = 0;  // of a trace; 0: it has none yet
    std::vector<Span> written;       // see memcheck.hpp

    // As Prepared::start().
    Operation* start(const Buffers& buffers, std::uint32_t channel) {
        if (!written.empty()) memcheck::mark(written, buffers.out);
        return prepared->start(buffers, channel);
    }

    // For the planner:
    std::uint64_t hash = 0;               // of problem and starts
    std::list<Plan>::iterator next = {};  // with the hash's bucket
};

// What a user asked for; equal on all ranks of the group.
struct PlanOptions {
    std::string engine = "auto";  // an engine's name, or auto: the first that can
    RequestedAlgorithms requested;
    std::shared_ptr<const Tuning> tuning = nullptr;  // null: none
    bool several_hosts = false;                      // the group spans more than one
    // Of blocks up to so many bytes, intra-node peers' messages go through memory; of longer ones, by the
    // engine.
    std::uint64_t max_bytes_by_memory = 0;
    // Prints a warning for people, once for the group; null: nowhere.
    std::function<void(const std::string&)> warn = nullptr;
    // Prove the lists of all ranks before the first run: in groups of up to 64 ranks, where this rank knows
    // all parts.
    bool check = false;
};

// An engine that may run lists of a group.
struct EngineOfGroup {
    const Engine* engine;
    std::function<std::unique_ptr<GroupEngine>()> open;  // called at most once; throws Error (system)
    bool is_costly = false;  // to open: others run the group's first collectives, if they can
};

// Not thread-safe.
class Planner {
  public:
    // `engines` in the order in which they are tried; the last one must run every list. `options` must
    // outlive the planner.
    Planner(int rank, std::vector<EngineOfGroup> engines, const PlanOptions& options);
    Planner& operator=(Planner&&) = delete;

    // The engine that runs every list that it supports.
    const Engine& first_engine() const { return *engines_.front().row.engine; }

    // Returns the plan of a valid problem with the group's ranks and placement; a repeated call builds
    // nothing. The plan stays valid while it is in flight or among the last that were asked for. Throws Error
    // (unsupported, internal, system).
    Plan& plan(const Problem& problem, Starts starts = Starts::anew) {
        if (waits_) [[unlikely]]
            count_towards_opening(problem);
        if (!plans_.empty() && plans_.front().problem == problem && plans_.front().starts == starts)
            return plans_.front();
        return find_or_make(problem, starts);
    }
    // Whether the ranks must agree before they start the plan: see Prepared::offer().
    bool needs_agreement(const Plan& plan);

    std::size_t size() const { return plans_.size(); }
    static constexpr std::size_t max_plans = 256;
    static constexpr std::uint64_t max_tasks = 1 << 20;
    // A costly engine takes over with so many collectives, or fewer long ones: each 16 KiB of a block count
    // as one more.
    static constexpr std::uint64_t worth_opening = 64;

  private:
    using Plans = std::list<Plan>;
    struct Candidate {
        EngineOfGroup row;
        std::unique_ptr<GroupEngine> opened;  // null before its first list
        std::exception_ptr failure;           // of its opening, which is not tried again
    };

    Plan& find_or_make(const Problem& problem, Starts starts);
    void count_towards_opening(const Problem& problem);
    void make(const Problem& problem, Starts starts, Plan& plan);
    static GroupEngine& open(Candidate& candidate);
    Candidate& choose_engine(const Problem& problem, Starts starts, const List& list, const Choice& choice,
                             const ListUse& use);
    void evict();
    Plans::iterator& bucket_of(std::uint64_t hash) { return buckets_[hash % buckets_.size()]; }
    void fill_buckets(std::size_t buckets);

    int rank_;
    const PlanOptions& options_;
    std::vector<Candidate> engines_;
    Guidance guidance_;
    Plans plans_;  // the last used first
    // By their hash; each is the first of its bucket, or plans_.end().
    std::vector<Plans::iterator> buckets_;
    Plans evicted_;  // at most one, without a list, whose memory the next new plan takes
    std::uint64_t tasks_ = 0;
    bool waits_ = false;         // a costly engine
    std::uint64_t counted_ = 0;  // meanwhile
    Plans outdated_;             // made meanwhile; they may be in flight
};

}  // namespace lapwing
