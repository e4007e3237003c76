#include "synthesis/search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulate/random.hpp"

namespace lapwing::synthesis {
namespace {

constexpr double mean_share = 1e-3;         // of the value: among equal ends, early arrivals are better
constexpr double first_temperature = 0.02;  // of the value
constexpr double last_temperature = 1e-4;
constexpr std::uint64_t steps_between_stops = 64;

class Annealing {
  public:
    Annealing(const Links& links, double bytes, const Search& how, Routes start)
        : links_(links), bytes_(bytes), how_(how), now_(std::move(start)), best_(now_) {
        value_ = best_value_ = value();
    }

    Routes run() {
        for (std::uint64_t i = 0; i < how_.steps; ++i) {
            if (how_.stop && i % steps_between_stops == 0 && how_.stop()) break;
            const double part = static_cast<double>(i) / static_cast<double>(how_.steps);
            const double temperature =
                best_value_ * first_temperature * std::pow(last_temperature / first_temperature, part);
            try_change(temperature);
        }
        return std::move(best_);
    }

  private:
    double value() const { return value_of(schedule(links_, now_, bytes_)); }
    std::uint64_t random(std::uint64_t below) {
        return simulate::random_bits(how_.seed, 0, number_++) % below;
    }
    int random_rank() { return static_cast<int>(random(at(links_.ranks))); }
    double random_share() { return simulate::random_share(how_.seed, 0, number_++); }

    void try_change(double temperature) {
        const auto chunk = static_cast<std::size_t>(random(now_.chunks.size()));
        const Tree before = now_.trees[chunk];
        std::vector<double> preferences;
        if (random(8) == 0) {
            preferences = now_.preferences;
            prefer(chunk);
        } else if (!change(chunk)) {
            now_.trees[chunk] = before;
            return;
        }
        const double changed = value();
        if (changed <= value_ || random_share() < std::exp((value_ - changed) / temperature)) {
            value_ = changed;
            if (changed < best_value_) {
                best_value_ = changed;
                best_ = now_;
            }
            return;
        }
        now_.trees[chunk] = before;
        if (!preferences.empty()) now_.preferences = std::move(preferences);
    }

    void prefer(std::size_t chunk) {
        const std::size_t ranks = at(links_.ranks);
        const double message = links_.message() + bytes_ * links_.per_byte;
        const std::size_t index = 2 * chunk * ranks + random(2 * ranks);
        now_.preferences[index] = (random_share() - 0.5) * 4 * message;
    }

    // Returns false if the tree cannot be changed so.
    bool change(std::size_t chunk) {
        Tree& tree = now_.trees[chunk];
        const Chunk& of = now_.chunks[chunk];
        const bool distributed =
            std::any_of(tree.down.begin(), tree.down.end(), [](int p) { return p >= 0; });
        if (random(6) == 0) return take_over(chunk);
        if (of.root < 0 && random(5) == 0) return move_root(tree, random_rank());
        if (!tree.up.empty() && (!distributed || random(2) == 0)) return move_up(tree);
        return distributed && move_down(tree, of);
    }

    // Another chunk's tree, with its root if this chunk's is free.
    bool take_over(std::size_t chunk) {
        const auto other = static_cast<std::size_t>(random(now_.chunks.size()));
        const Chunk& to = now_.chunks[chunk];
        const Chunk& from = now_.chunks[other];
        if (other == chunk || to.needed != from.needed || to.root != from.root) return false;
        now_.trees[chunk] = now_.trees[other];
        return true;
    }

    // The parents on the way between the old and the new root turn round.
    bool move_root(Tree& tree, int root) {
        if (root == tree.root) return false;
        const auto turn = [&](std::vector<int>& parents, bool up) {
            int below = -1;
            for (int rank = root; rank >= 0;) {
                const int above = parents[at(rank)];
                if (below >= 0 && !(up ? links_.joined(rank, below) : links_.joined(below, rank)))
                    return false;
                parents[at(rank)] = below;
                below = rank;
                rank = above;
            }
            return true;
        };
        if (!tree.up.empty() && !turn(tree.up, true)) return false;
        if (!turn(tree.down, false)) return false;
        tree.root = root;
        return true;
    }

    static bool below(const std::vector<int>& parents, int rank, int top) {
        for (; rank >= 0; rank = parents[at(rank)])
            if (rank == top) return true;
        return false;
    }

    bool move_up(Tree& tree) {
        const int rank = random_rank();
        const int parent = random_rank();
        if (rank == tree.root || parent == tree.up[at(rank)] || !links_.joined(rank, parent)) return false;
        if (below(tree.up, parent, rank)) return false;
        tree.up[at(rank)] = parent;
        return true;
    }

    bool move_down(Tree& tree, const Chunk& chunk) {
        const int rank = random_rank();
        const int parent = random_rank();
        const auto reached = [&](int one) { return one == tree.root || tree.down[at(one)] >= 0; };
        if (rank == tree.root || !reached(rank) || parent == tree.down[at(rank)]) return false;
        if (!links_.joined(parent, rank) || below(tree.down, parent, rank)) return false;
        if (!reached(parent)) {
            // Another rank joins the way.
            const int above = random_rank();
            if (above == parent || !reached(above) || below(tree.down, above, rank)) return false;
            if (!links_.joined(above, parent)) return false;
            tree.down[at(parent)] = above;
        }
        tree.down[at(rank)] = parent;
        prune(tree, chunk);
        return true;
    }

    // Removes leaves that do not need the chunk.
    void prune(Tree& tree, const Chunk& chunk) const {
        for (bool more = true; more;) {
            more = false;
            for (int rank = 0; rank < links_.ranks; ++rank) {
                if (tree.down[at(rank)] < 0 || chunk.needed[at(rank)] != 0) continue;
                if (std::find(tree.down.begin(), tree.down.end(), rank) != tree.down.end()) continue;
                tree.down[at(rank)] = -1;
                more = true;
            }
        }
    }

    const Links& links_;
    double bytes_;
    const Search& how_;
    std::uint64_t number_ = 0;
    Routes now_;
    Routes best_;
    double value_ = 0;
    double best_value_ = 0;
};

}  // namespace

double value_of(const Schedule& schedule) {
    return schedule.seconds + mean_share * schedule.mean;
}

Routes search(const Links& links, const Problem& problem, int pieces, double bytes, const Search& how) {
    std::vector<Routes> starts = constructions(links, problem, pieces, bytes);
    if (starts.empty()) return routes_of(problem, pieces);
    const auto value = [&](const Routes& routes) { return value_of(schedule(links, routes, bytes)); };
    const auto best = std::min_element(starts.begin(), starts.end(),
                                       [&](const Routes& a, const Routes& b) { return value(a) < value(b); });
    return Annealing(links, bytes, how, std::move(*best)).run();
}

}  // namespace lapwing::synthesis
