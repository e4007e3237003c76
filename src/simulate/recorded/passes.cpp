#include "simulate/recorded/passes.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace lapwing::simulate {
namespace {

// Calls visit(action) for the begin of each outer loop of more than `passes` passes.
template <class Actions, class Visit>
void each_long_loop(Actions& actions, int passes, Visit visit) {
    int depth = 0;
    for (auto& action : actions) {
        if (action.kind == Action::Kind::repeat && depth++ == 0 && action.times > passes) visit(action);
        if (action.kind == Action::Kind::end) --depth;
    }
}

std::vector<int> long_loops(const std::vector<Action>& actions, int passes) {
    std::vector<int> times;
    each_long_loop(actions, passes, [&](const Action& loop) { times.push_back(loop.times); });
    return times;
}

// Long loops make `passes` passes, but for the loop `other`, which makes half.
Scripts shortened(const Scripts& scripts, int passes, std::size_t other) {
    Scripts found = scripts;
    for (std::vector<Action>& actions : found.of_ranks) {
        std::size_t index = 0;
        each_long_loop(actions, passes,
                       [&](Action& loop) { loop.times = index++ == other ? passes / 2 : passes; });
    }
    return found;
}

void add(std::vector<Time>& to, const std::vector<Time>& all, const std::vector<Time>& half, double factor) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] += static_cast<Time>(std::llround(static_cast<double>(all[i] - half[i]) * factor));
    }
}

}  // namespace

Outcome simulate_passes(const Scripts& scripts, int passes,
                        const std::function<Outcome(const Scripts&)>& run) {
    const std::vector<int> loops = long_loops(scripts.of_ranks.front(), passes);
    for (const std::vector<Action>& actions : scripts.of_ranks) {
        if (long_loops(actions, passes) != loops) {
            throw Error(ErrorCode::unsupported,
                        "the program: ranks have different loops, so all passes are needed");
        }
    }
    if (loops.empty()) return run(scripts);
    const Outcome few = run(shortened(scripts, passes, loops.size()));
    Outcome found = few;
    for (std::size_t i = 0; i < loops.size(); ++i) {
        const Outcome half = run(shortened(scripts, passes, i));
        const double factor = static_cast<double>(loops[i] - passes) / (passes - passes / 2);
        add(found.ends, few.ends, half.ends, factor);
        add(found.computing, few.computing, half.computing, factor);
        add(found.sites, few.sites, half.sites, factor);
        found.messages +=
            static_cast<std::uint64_t>(static_cast<double>(few.messages - half.messages) * factor);
    }
    return found;
}

}  // namespace lapwing::simulate
