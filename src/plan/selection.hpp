// Which algorithm takes a problem: the one that was asked for, or the one that was measured to be the
// fastest, or the cheapest by the cost model; always one that applies. Depends only on what all ranks of the
// group share, so that all choose the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"
#include "plan/tuning.hpp"

namespace lapwing {

// At most one wish for each collective, as LAPWING_ALGORITHM writes them:
// "ialltoall=pairwise:window=6,ibcast=binomial,iallreduce=file:my.lists".
class RequestedAlgorithms {
  public:
    // Throws Error that names the nearest valid collective, algorithm or parameter, and as read_choice().
    static RequestedAlgorithms parse(std::string_view text);
    const Choice* find(Collective collective) const;
    std::span<const Choice> all() const { return choices_; }

  private:
    std::vector<Choice> choices_;
};

struct Candidate {
    Choice choice;
    double cost = 0;  // seconds by the model; meaningless when it declines
    Verdict applies = Verdict::yes();
};

// By the model. Where the ranks stand on several hosts, also algorithms that do not know this pay for the way
// between hosts, and for sharing it.
double modelled_seconds(const Problem& problem, const Choice& choice, const Machine& machine);

// Every algorithm of the problem's collective with its verdict and cost, cheapest first, decliners last.
std::vector<Candidate> candidates(const Problem& problem, const Machine& machine = {});

// What was measured, and where the group stands.
struct Guidance {
    const Tuning* tuning = nullptr;  // of the user; null: none. What is shipped is asked after it.
    Surroundings surroundings;
    std::optional<Machine> known = std::nullopt;  // the result of machine(), if the caller keeps it

    // Of the cost model: the tuning's, else the shipped ones, else the built-in ones. `where` says which.
    Machine machine(const Problem& problem, std::string* where = nullptr) const;
};

struct Selection {
    enum class By { request, tuning, defaults, cost };
    Choice choice;
    By by = By::cost;
    std::string refused;  // the counter-example, if the lists of a file were asked for and are wrong
};

// `why`, if it is not null, gets one clause for people: "requested", "ring declined: ...; cheapest by the
// cost model, ...". Throws Error (unsupported) when no algorithm applies.
Selection select(const Problem& problem, const RequestedAlgorithms& requested = {},
                 const Guidance& guidance = {}, std::string* why = nullptr);

}  // namespace lapwing
