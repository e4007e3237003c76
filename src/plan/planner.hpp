// Plans of one group: a problem is given to an algorithm and an engine once, and kept for the next time.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "plan/selection.hpp"
#include "task/problem.hpp"

namespace lapwing {

struct Plan {
    Problem problem;
    Choice choice;
    const Engine* engine = nullptr;
    std::unique_ptr<Prepared> prepared;
    std::uint64_t tasks = 0;
    std::uint64_t bytes_sent = 0;    // to other ranks, in one run
    int in_flight = 0;               // runs started and not complete; counted by the caller
    std::uint32_t trace_number = 0;  // of a trace; 0: it has none yet
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
    // Prove the lists of all ranks before the first run: in groups of up to 64 ranks, where this rank knows
    // all parts.
    bool check = false;
};

// Not thread-safe.
class Planner {
  public:
    // `context` and `options` outlive the planner.
    Planner(int rank, const EngineContext& context, const PlanOptions& options)
        : rank_(rank), context_(context), options_(options) {}

    // The engine that takes every list that it supports.
    const Engine& first_engine() const;

    // The plan of a valid problem; a repeated call builds nothing. Stays valid while it is in flight or among
    // the last that were asked for. Throws Error (unsupported, internal).
    Plan& plan(const Problem& problem) {
        if (!plans_.empty() && plans_.front().problem == problem) return plans_.front();
        return find_or_make(problem);
    }

    std::size_t size() const { return plans_.size(); }
    static constexpr std::size_t max_plans = 256;
    static constexpr std::uint64_t max_tasks = 1 << 20;

  private:
    struct Hash {
        std::size_t operator()(const Problem& problem) const;
    };

    Plan& find_or_make(const Problem& problem);
    Plan make(const Problem& problem);
    GroupEngine& open(const Engine& engine);
    void evict();

    int rank_;
    const EngineContext& context_;
    const PlanOptions& options_;
    std::vector<std::pair<const Engine*, std::unique_ptr<GroupEngine>>> engines_;  // those in use
    std::list<Plan> plans_;                                                        // the last used first
    std::unordered_map<Problem, std::list<Plan>::iterator, Hash> by_problem_;
    std::uint64_t tasks_ = 0;
};

}  // namespace lapwing
