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

Communicator::Communicator(std::vector<std::int32_t> ranks) : ranks_(std::move(ranks)) {
    members_.reserve(ranks_.size());
    for (const std::int32_t rank : ranks_) {
        members_.emplace_back(rank, static_cast<std::int32_t>(members_.size()));
    }
    std::sort(members_.begin(), members_.end());
}

int Communicator::member(std::int32_t rank) const {
    const auto found = std::lower_bound(members_.begin(), members_.end(), std::pair(rank, std::int32_t{0}));
    return found != members_.end() && found->first == rank ? found->second : -1;
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

void check(const Scripts& scripts, int ranks, std::span<const Operation> operations) {
    if (scripts.of_ranks.size() != static_cast<std::size_t>(ranks)) refuse("each rank needs a script");
    const auto communicators = static_cast<int>(scripts.communicators.size());
    for (const Operation& operation : operations) {
        if (operation.communicator >= communicators) refuse("a communicator does not exist");
        const int size = operation.communicator < 0
                             ? 2
                             : scripts.communicators[static_cast<std::size_t>(operation.communicator)].size();
        if (operation.lists->ranks != size) {
            refuse(fmt::format("the lists of {} ranks do not fit {} ranks", operation.lists->ranks, size));
        }
    }
    for (const std::vector<Action>& actions : scripts.of_ranks) {
        int depth = 0;
        for (const Action& action : actions) {
            using Kind = Action::Kind;
            const bool message = action.kind == Kind::send || action.kind == Kind::receive;
            if (action.work < 0 || action.tests < 0) refuse("work and tests must not be negative");
            if (action.request < 0) refuse(fmt::format("request {} is out of range", action.request));
            if (action.site < 0 || action.site >= scripts.sites) refuse("a call site does not exist");
            if (message || action.kind == Kind::start) {
                if (action.operation < 0 || static_cast<std::size_t>(action.operation) >= operations.size() ||
                    message != (operations[static_cast<std::size_t>(action.operation)].communicator < 0)) {
                    refuse(fmt::format("operation {} does not exist", action.operation));
                }
            }
            if (action.kind == Kind::repeat && action.times < 1)
                refuse("actions are repeated less than once");
            if (action.kind == Kind::repeat) ++depth;
            if (action.kind == Kind::end && --depth < 0) break;
        }
        if (depth != 0) refuse("repeated actions have no end, or no beginning");
    }
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
