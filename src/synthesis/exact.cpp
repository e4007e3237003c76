#include "synthesis/exact.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lapwing::synthesis {
namespace {

constexpr std::size_t max_variables = 3000;
// Beyond the steps that are surely needed.
constexpr int max_further_steps = 12;
// Numbers of steps that the solver may leave undecided: one more step rarely makes it easier.
constexpr int max_undecided = 2;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

// The few functions of Z3's C interface that are needed, with its own types as pointers.
struct Solver {
    void* (*make_config)() = nullptr;
    void (*delete_config)(void*) = nullptr;
    void* (*make_context)(void*) = nullptr;
    void (*delete_context)(void*) = nullptr;
    const char* (*evaluate)(void*, const char*) = nullptr;
    void (*set_error_handler)(void*, void (*)(void*, int)) = nullptr;
    const char* (*version)() = nullptr;

    bool complete() const {
        return make_config != nullptr && delete_config != nullptr && make_context != nullptr &&
               delete_context != nullptr && evaluate != nullptr && set_error_handler != nullptr &&
               version != nullptr;
    }
};

const Solver* solver() {
    static const Solver loaded = [] {
        Solver result;
        void* library = nullptr;
        for (const char* name : {"libz3.so.4", "libz3.so"}) {
            if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
        if (library == nullptr) return result;
        const auto load = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
        };
        load(result.make_config, "Z3_mk_config");
        load(result.delete_config, "Z3_del_config");
        load(result.make_context, "Z3_mk_context");
        load(result.delete_context, "Z3_del_context");
        load(result.evaluate, "Z3_eval_smtlib2_string");
        load(result.set_error_handler, "Z3_set_error_handler");
        load(result.version, "Z3_get_full_version");
        return result;
    }();
    return loaded.complete() ? &loaded : nullptr;
}

// One run of Z3, on commands of SMT-LIB 2.
class Session {
  public:
    Session() {
        void* config = solver()->make_config();
        context_ = solver()->make_context(config);
        solver()->delete_config(config);
        // Without a handler Z3 ends the process.
        solver()->set_error_handler(context_, [](void*, int) {});
    }
    ~Session() { solver()->delete_context(context_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    std::string answer(const std::string& commands) { return solver()->evaluate(context_, commands.c_str()); }

  private:
    void* context_ = nullptr;
};

// The routes of at most `steps` steps, as formulas. A variable x is true if a transfer starts in a step.
class Formulas {
  public:
    Formulas(const Links& links, const Routes& routes, double bytes, int steps)
        : links_(links), routes_(routes), steps_(steps) {
        const double wire = bytes * links.per_byte;
        const double message = links.latency + 2 * links.task;
        const double unit = wire + message;
        const auto whole = [&](double seconds) {
            return std::max(1, static_cast<int>(std::lround(seconds / unit)));
        };
        for (int from = 0; from < links.ranks; ++from) {
            ports_.push_back(whole(wire * links.port(from)));
            for (int to = 0; to < links.ranks; ++to) {
                const bool joined = from != to && links.joined(from, to);
                lengths_.push_back(joined ? whole(wire * links.way(from, to) + message) : 0);
                pairs_.push_back(joined ? whole(wire * links.pair(from, to)) : 0);
            }
        }
    }

    struct Start {
        int chunk;
        bool up;
        int from;
        int to;
        int step;
    };

    // Returns false if there would be too many variables.
    bool write() {
        for (int chunk = 0; chunk < static_cast<int>(routes_.chunks.size()); ++chunk) {
            const Chunk& one = routes_.chunks[at(chunk)];
            add_chunk(chunk, one);
            if (starts_.size() > max_variables) return false;
        }
        for (int rank = 0; rank < links_.ranks; ++rank) {
            one_at_a_time([&](const Start& start) { return start.from == rank; },
                          [&](const Start& start) {
                              return std::pair{start.step, start.step + ports_[at(start.from)]};
                          });
            one_at_a_time([&](const Start& start) { return start.to == rank; },
                          [&](const Start& start) {
                              const int end = start.step + length(start.from, start.to);
                              return std::pair{end - ports_[at(start.to)], end};
                          });
        }
        for (int from = 0; from < links_.ranks; ++from) {
            for (int to = 0; to < links_.ranks; ++to) {
                const int pair = pairs_[at(from * links_.ranks + to)];
                if (pair <= std::max(ports_[at(from)], ports_[at(to)])) continue;
                one_at_a_time([&](const Start& start) { return start.from == from && start.to == to; },
                              [&](const Start& start) {
                                  return std::pair{start.step, start.step + pair};
                              });
            }
        }
        return true;
    }

    const std::vector<Start>& starts() const { return starts_; }
    std::string commands(std::uint64_t limit) const {
        std::string text = fmt::format("(set-option :rlimit {})\n", limit);
        text += text_;
        text += "(check-sat)\n";
        return text;
    }
    // Asks for the values of all variables.
    std::string values() const {
        std::string text = "(get-value (";
        for (std::size_t i = 0; i < starts_.size(); ++i) text += fmt::format("x{} ", i);
        return text + "))\n";
    }

  private:
    int length(int from, int to) const { return lengths_[at(from * links_.ranks + to)]; }

    std::string new_name(char kind) {
        std::string name = fmt::format("{}{}", kind, names_++);
        text_ += fmt::format("(declare-const {} Bool)\n", name);
        return name;
    }
    std::size_t new_start(const Start& start) {
        text_ += fmt::format("(declare-const x{} Bool)\n", starts_.size());
        starts_.push_back(start);
        return starts_.size() - 1;
    }
    void require(const std::string& formula) { text_ += fmt::format("(assert {})\n", formula); }
    static std::string any(const std::vector<std::string>& formulas) {
        if (formulas.empty()) return "false";
        std::string text = "(or";
        for (const std::string& one : formulas) text += " " + one;
        return text + ")";
    }
    void at_most_one(const std::vector<std::string>& formulas) {
        if (formulas.size() < 2) return;
        std::string text = "((_ at-most 1)";
        for (const std::string& one : formulas) text += " " + one;
        require(text + ")");
    }

    template <class Member, class Interval>
    void one_at_a_time(Member member, Interval interval) {
        std::vector<std::vector<std::string>> busy(at(steps_));
        for (std::size_t i = 0; i < starts_.size(); ++i) {
            if (!member(starts_[i])) continue;
            const auto [begin, end] = interval(starts_[i]);
            for (int step = begin; step < std::min(end, steps_); ++step)
                busy[at(step)].push_back(fmt::format("x{}", i));
        }
        for (const std::vector<std::string>& step : busy) at_most_one(step);
    }

    void add_chunk(int index, const Chunk& chunk) {
        const int ranks = links_.ranks;
        // Whether a rank is the root: fixed, or a variable.
        std::vector<std::string> root;
        for (int rank = 0; rank < ranks; ++rank)
            root.push_back(chunk.root >= 0 ? (chunk.root == rank ? "true" : "false") : new_name('r'));
        if (chunk.root < 0) {
            at_most_one(root);
            require(any(root));
        }
        // The starts at which each rank sends up, and at which contributions to it arrive after a step.
        std::vector<std::vector<std::size_t>> sends(at(ranks));
        std::vector<std::vector<std::size_t>> contributions(at(ranks));
        if (chunk.reduced) {
            for (int from = 0; from < ranks; ++from) {
                std::vector<std::string> all;
                for (int to = 0; to < ranks; ++to) {
                    if (to == from || length(from, to) == 0) continue;
                    for (int step = 0; step + length(from, to) <= steps_; ++step) {
                        const std::size_t start = new_start({index, true, from, to, step});
                        sends[at(from)].push_back(start);
                        contributions[at(to)].push_back(start);
                        all.push_back(fmt::format("x{}", start));
                    }
                }
                at_most_one(all);
                require(fmt::format("(= {} (not {}))", any(all), root[at(from)]));
            }
        }
        const auto arrival = [&](std::size_t start) {
            return starts_[start].step + length(starts_[start].from, starts_[start].to);
        };
        for (int rank = 0; rank < ranks; ++rank) {
            for (int step = 0; step < steps_; ++step) {
                // A contribution that arrives after this step forbids sends up to here.
                std::vector<std::string> late;
                std::vector<std::string> sent;
                for (const std::size_t start : contributions[at(rank)])
                    if (arrival(start) == step + 1) late.push_back(fmt::format("x{}", start));
                for (const std::size_t start : sends[at(rank)])
                    if (starts_[start].step <= step) sent.push_back(fmt::format("x{}", start));
                if (!late.empty() && !sent.empty())
                    require(fmt::format("(not (and {} {}))", any(late), any(sent)));
            }
        }
        if (std::count(chunk.needed.begin(), chunk.needed.end(), 1) == 1 && chunk.root >= 0 &&
            chunk.needed[at(chunk.root)] != 0) {
            return;  // not distributed
        }
        distribute(index, chunk, root, contributions);
    }

    void distribute(int index, const Chunk& chunk, const std::vector<std::string>& root,
                    const std::vector<std::vector<std::size_t>>& contributions) {
        const int ranks = links_.ranks;
        std::vector<std::vector<std::size_t>> receives(at(ranks));
        const std::size_t first = starts_.size();
        for (int to = 0; to < ranks; ++to) {
            std::vector<std::string> all;
            for (int from = 0; from < ranks && chunk.root != to; ++from) {
                if (to == from || length(from, to) == 0) continue;
                for (int step = 0; step + length(from, to) <= steps_; ++step) {
                    receives[at(to)].push_back(new_start({index, false, from, to, step}));
                    all.push_back(fmt::format("x{}", receives[at(to)].back()));
                }
            }
            at_most_one(all);
            if (chunk.needed[at(to)] != 0) require(fmt::format("(or {} {})", root[at(to)], any(all)));
            if (chunk.root < 0) require(fmt::format("(not (and {} {}))", root[at(to)], any(all)));
        }
        // has[rank][step]: the chunk is there before the step.
        std::vector<std::vector<std::string>> has(at(ranks));
        for (int rank = 0; rank < ranks; ++rank) {
            for (int step = 0; step < steps_; ++step) {
                std::vector<std::string> ways;
                if (root[at(rank)] != "false") {
                    // The root has the chunk when no contribution to it arrives any more.
                    std::vector<std::string> later;
                    for (const std::size_t start : contributions[at(rank)])
                        if (starts_[start].step + length(starts_[start].from, rank) > step)
                            later.push_back(fmt::format("x{}", start));
                    ways.push_back(later.empty()
                                       ? root[at(rank)]
                                       : fmt::format("(and {} (not {}))", root[at(rank)], any(later)));
                }
                for (const std::size_t start : receives[at(rank)])
                    if (starts_[start].step + length(starts_[start].from, rank) <= step)
                        ways.push_back(fmt::format("x{}", start));
                has[at(rank)].push_back(new_name('h'));
                require(fmt::format("(= {} {})", has[at(rank)].back(), any(ways)));
            }
        }
        for (std::size_t i = first; i < starts_.size(); ++i)
            require(fmt::format("(=> x{} {})", i, has[at(starts_[i].from)][at(starts_[i].step)]));
    }

    const Links& links_;
    const Routes& routes_;
    int steps_;
    std::vector<int> ports_;    // steps for which a chunk keeps each port busy
    std::vector<int> pairs_;    // the same of the links of pairs
    std::vector<int> lengths_;  // steps from the start to the arrival; 0: no link
    std::vector<Start> starts_;
    std::string text_;
    std::size_t names_ = 0;
};

// Reads "((x0 true) (x1 false) ...)".
Routes routes_in(const std::string& answer, const Formulas& formulas, const Links& links, Routes routes) {
    routes.trees.clear();
    for (const Chunk& chunk : routes.chunks) {
        Tree tree{std::max(chunk.root, 0), {}, std::vector<int>(at(links.ranks), -1)};
        if (chunk.reduced) tree.up.assign(at(links.ranks), -1);
        routes.trees.push_back(tree);
    }
    // Earlier starts first, whatever the way that follows.
    constexpr double seconds_per_step = 1e3;
    for (std::size_t i = 0; i < formulas.starts().size(); ++i) {
        if (answer.find(fmt::format("(x{} true)", i)) == std::string::npos) continue;
        const Formulas::Start& start = formulas.starts()[i];
        Tree& tree = routes.trees[at(start.chunk)];
        const int child = start.up ? start.from : start.to;
        (start.up ? tree.up : tree.down)[at(child)] = start.up ? start.to : start.from;
        routes.preferences[at((2 * start.chunk + (start.up ? 0 : 1)) * links.ranks + child)] =
            -seconds_per_step * start.step;
    }
    for (std::size_t i = 0; i < routes.trees.size(); ++i) {
        Tree& tree = routes.trees[i];
        if (routes.chunks[i].root >= 0 || tree.up.empty()) continue;
        tree.root = static_cast<int>(std::find(tree.up.begin(), tree.up.end(), -1) - tree.up.begin());
    }
    return routes;
}

// Removes ways down that end where the chunk is not needed: a solver may leave some.
void prune(Routes& routes) {
    for (std::size_t i = 0; i < routes.trees.size(); ++i) {
        std::vector<int>& down = routes.trees[i].down;
        for (bool more = true; more;) {
            more = false;
            for (std::size_t rank = 0; rank < down.size(); ++rank) {
                if (down[rank] < 0 || routes.chunks[i].needed[rank] != 0) continue;
                if (std::find(down.begin(), down.end(), static_cast<int>(rank)) != down.end()) continue;
                down[rank] = -1;
                more = true;
            }
        }
    }
}

}  // namespace

std::optional<std::string> solver_version() {
    if (solver() == nullptr) return {};
    return solver()->version();
}

Exact find_exactly(const Links& links, const Problem& problem, int pieces, double bytes,
                   std::uint64_t limit) {
    Exact result;
    const Routes routes = routes_of(problem, pieces);
    if (routes.chunks.empty() || links.ranks < 2) return {Exact::End::too_large};
    const double unit = bytes * links.per_byte + links.latency + 2 * links.task;
    const int first = std::max(1, static_cast<int>(lower_bound(links, problem, bytes * pieces) / unit));
    int undecided = 0;
    // Rounding to whole steps halves a time at most.
    for (int steps = std::max(1, first / 2); steps <= first + max_further_steps && undecided < max_undecided;
         ++steps) {
        Formulas formulas(links, routes, bytes, steps);
        if (!formulas.write()) {
            result.end = Exact::End::too_large;
            return result;
        }
        if (solver() == nullptr) return result;
        Session session;
        const std::string answer = session.answer(formulas.commands(limit));
        if (answer.starts_with("sat")) {
            result.end = undecided == 0 ? Exact::End::optimal : Exact::End::found;
            result.steps = steps;
            result.routes = routes_in(session.answer(formulas.values()), formulas, links, routes);
            prune(*result.routes);
            return result;
        }
        if (!answer.starts_with("unsat")) ++undecided;
    }
    result.end = Exact::End::undecided;
    return result;
}

}  // namespace lapwing::synthesis
