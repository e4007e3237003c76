#include "simulate/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "simulate/lists.hpp"
#include "simulate/random.hpp"

namespace lapwing::simulate {
namespace {

// Distinct from the streams of the noise.
constexpr std::uint64_t stream_of_lateness = std::uint64_t{1} << 40;
constexpr int max_requests = 1024;

[[noreturn]] void refuse(const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "the program: " + why);
}

}  // namespace

Time Lateness::of(int of_rank, int iteration) const {
    switch (kind) {
        case Kind::none:
            break;
        case Kind::uniform:
            return static_cast<Time>(random_share(seed,
                                                  stream_of_lateness + static_cast<std::uint64_t>(of_rank),
                                                  static_cast<std::uint64_t>(iteration)) *
                                     static_cast<double>(max));
        case Kind::one:
            return of_rank == rank ? max : 0;
    }
    return 0;
}

std::vector<Action> Program::steps() const {
    if (!actions.empty()) return actions;
    return {start(0), compute(work, tests), wait()};
}

int check(const std::vector<Action>& actions, int operations) {
    std::vector<bool> started;
    for (const Action& action : actions) {
        if (action.kind == Action::Kind::compute) {
            if (action.work < 0 || action.tests < 0) refuse("work and tests must not be negative");
            continue;
        }
        if (action.request < 0 || action.request >= max_requests) {
            refuse(fmt::format("request {} is out of range: it must be from 0 to {}", action.request,
                               max_requests - 1));
        }
        const auto request = static_cast<std::size_t>(action.request);
        if (started.size() <= request) started.resize(request + 1);
        const bool starts = action.kind == Action::Kind::start;
        if (starts && (action.operation < 0 || action.operation >= operations)) {
            refuse(fmt::format("collective {} does not exist", action.operation));
        }
        if (started[request] == starts) {
            refuse(fmt::format(
                "request {} is {}", action.request,
                starts ? "started again before it is waited for" : "waited for before it is started"));
        }
        started[request] = starts;
    }
    const auto open = std::find(started.begin(), started.end(), true);
    if (open != started.end()) refuse(fmt::format("request {} is never waited for", open - started.begin()));
    return static_cast<int>(started.size());
}

int max_in_flight(const std::vector<Action>& actions) {
    int open = 0;
    int max_open = 0;
    for (const Action& action : actions) {
        if (action.kind == Action::Kind::start) max_open = std::max(max_open, ++open);
        if (action.kind == Action::Kind::wait) --open;
    }
    return max_open;
}

std::vector<Action> blocking(const std::vector<Action>& actions) {
    std::vector<Action> found;
    for (Action action : actions) {
        if (action.kind == Action::Kind::wait) continue;
        action.request = 0;
        action.tests = 0;
        found.push_back(action);
        if (action.kind == Action::Kind::start) found.push_back(wait());
    }
    return found;
}

Time computation(const std::vector<Action>& actions, int rank, int ranks) {
    Time sum = 0;
    for (const Action& action : actions) {
        if (action.kind == Action::Kind::compute && action.ranks.has(rank, ranks)) sum += action.work;
    }
    return sum;
}

std::vector<Action> communication(const std::vector<Action>& actions) {
    std::vector<Action> found;
    for (const Action& action : blocking(actions)) {
        if (action.kind != Action::Kind::compute) found.push_back(action);
    }
    return found;
}

}  // namespace lapwing::simulate
