// The rules of the checker, one file each, and what they share.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "task/checker.hpp"
#include "task/checker/traffic.hpp"

namespace lapwing::checker {

// Collects violations up to a limit.
class Findings {
  public:
    explicit Findings(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {}
    bool none() const { return violations_.empty(); }
    bool full() const { return violations_.size() >= limit_; }
    void add(Rule rule, int rank, std::optional<std::size_t> task, std::string why) {
        if (!full()) violations_.push_back({rule, rank, task, std::move(why)});
    }
    std::vector<Violation> take() { return std::move(violations_); }

  private:
    std::size_t limit_;
    std::vector<Violation> violations_;
};

// Returns "task 1 (wait 1 1)", for messages.
std::string describe(const List& list, std::size_t task);

// Consecutive tasks of one rank that ran without blocking.
struct Burst {
    int rank;
    TaskIndex begin;
    TaskIndex end;
};

void check_form(const Problem& problem, std::span<const List> lists, Findings& findings);
void check_matching(std::span<const List> lists, const Traffic& traffic, Findings& findings);
// Returns an order in which the lists can run; unspecified if there was a violation.
std::vector<Burst> check_deadlock(std::span<const List> lists, const Traffic& traffic, Findings& findings);
void check_hazard(std::span<const List> lists, const Traffic& traffic, Findings& findings);
// provenance, for collectives that move bytes
void check_bytes(const Problem& problem, std::span<const List> lists, const Traffic& traffic,
                 std::span<const Burst> order, Findings& findings);
// provenance, for the barrier
void check_arrival(std::span<const List> lists, const Traffic& traffic, std::span<const Burst> order,
                   Findings& findings);

}  // namespace lapwing::checker
