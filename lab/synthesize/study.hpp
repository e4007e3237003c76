// What `lapwing synthesize` compares: synthesized lists and the catalogue, in one simulation on the same
// links.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/tuning.hpp"
#include "simulate/setting.hpp"
#include "synthesis/search.hpp"
#include "synthesize/links_file.hpp"

namespace lapwing::tool {

struct SynthesisOptions {
    std::vector<int> pieces;  // of a block; empty: several
    synthesis::Search search;
};

struct Synthesized {
    ListSet set;
    int pieces = 1;
    double seconds = 0;  // simulated
    double bound = 0;    // seconds that no lists can undercut
    std::string how;     // "best found", or the algorithm whose order of ranks gave the lists
};

struct Rival {
    const Algorithm* algorithm = nullptr;
    double seconds = 0;
    std::vector<int> order;  // the rank that runs the list of each rank of the algorithm
};

class SynthesisStudy {
  public:
    // The constants of messages that the file does not have come from the tuning, else from what Lapwing
    // ships.
    SynthesisStudy(LinksFile file, const simulate::Engine& engine, const Tuning* tuning);

    Synthesized synthesize(const Problem& problem, const SynthesisOptions& options) const;
    // The algorithms of the catalogue that need no missing link, the best one first.
    std::vector<Rival> rivals(const Problem& problem) const;
    // The algorithm of the catalogue that is the best one if ranks may be in any order; a root keeps its
    // place. All orders that the links distinguish are compared, or, if there are many, some found by search.
    std::optional<Rival> best_in_any_order(const Problem& problem) const;
    // The lists of a broadcast, reduce or allreduce by such an algorithm, for ranks in their own order.
    // Returns nothing for other collectives, and if the algorithm has no lists in chunks for this problem.
    std::optional<Synthesized> reordered(const Problem& problem, const Rival& rival) const;

  private:
    using Order = std::vector<int>;

    bool have_links(const std::vector<List>& lists, const Order& order) const;
    // Returns nothing if the lists need a missing link or cannot be simulated.
    std::optional<double> seconds_in_order(const std::vector<List>& lists, const Order& order) const;
    std::vector<Order> distinct_orders(const Problem& problem) const;
    Rival best_order(const Problem& problem, const Choice& choice, const std::vector<Order>& orders) const;

    synthesis::Links links_;
    simulate::Setting setting_;
    Order in_order_;
};

}  // namespace lapwing::tool
