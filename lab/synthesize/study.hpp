// What `lapwing synthesize` compares: synthesized lists and the catalogue, in one simulation on the same
// links.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "synthesize/links_file.hpp"
#include "plan/tuning.hpp"
#include "simulate/setting.hpp"
#include "synthesis/search.hpp"

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
    std::string name;  // an algorithm of the catalogue
    double seconds = 0;
    // The rank that runs the list of each rank of the algorithm; empty: in order.
    std::vector<int> order = {};
};

class SynthesisStudy {
  public:
    // The constants of messages that the file does not have come from the tuning, else from what Lapwing
    // ships.
    SynthesisStudy(LinksFile file, const simulate::Engine& engine, const Tuning* tuning);

    const synthesis::Links& links() const { return links_; }

    Synthesized synthesize(const Problem& problem, const SynthesisOptions& options) const;
    // The algorithms of the catalogue that need no missing link, the best one first.
    std::vector<Rival> rivals(const Problem& problem) const;
    // The algorithm of the catalogue that is the best one if ranks may be in any order; a root keeps its
    // place. All orders that the links distinguish are compared, or, if there are many, some found by search.
    std::optional<Rival> best_in_any_order(const Problem& problem) const;
    // The lists of a broadcast, reduce or allreduce by such an algorithm, for ranks in their own order.
    // Returns nothing for other collectives, and if the algorithm has no lists in chunks for this problem.
    std::optional<Synthesized> reordered(const Problem& problem, const Rival& rival) const;
    // Throws Error (invalid_argument) if the lists need a link that is missing.
    double simulated_seconds(const std::vector<List>& lists) const;

  private:
    using Order = std::vector<int>;  // empty: ranks in order
    static int rank_at(int position, const Order& order);

    bool have_links(const std::vector<List>& lists, const Order& order = {}) const;
    // Returns nothing if the lists need a missing link or cannot be simulated.
    std::optional<double> seconds_in_order(const std::vector<List>& lists, const Order& order) const;
    std::unique_ptr<simulate::Network> network(const Order& order) const;
    std::vector<Order> distinct_orders(const Problem& problem) const;
    Rival best_order(const Problem& problem, Rival rival, const std::vector<List>& lists,
                     const std::vector<Order>& orders) const;

    synthesis::Links links_;
    simulate::Setting setting_;
    std::unique_ptr<simulate::Network> network_;
};

}  // namespace lapwing::tool
