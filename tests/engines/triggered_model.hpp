// What the models of the triggered engine share: jobs, a network that delivers as late as it likes, and what
// a processor does in a run.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/triggered/schedule.hpp"
#include "engines/triggered/works.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing::triggered::testing_triggered {

using namespace testing_engines;

constexpr std::uint64_t counts = std::uint64_t{1} << 48;  // what a counter of the card holds
constexpr std::uint64_t max_in_run = 32;                  // messages of a pair

struct Job {
    ListSet lists;
    Problem problem;
};

inline bool has_all(const ListSet& lists) {
    return std::all_of(lists.lists.begin(), lists.lists.end(),
                       [](const List& list) { return has_schedule(list); });
}

// Problems that have a schedule, of several algorithms.
inline std::vector<Job> random_jobs(int ranks, std::mt19937& random, std::size_t count,
                                    std::optional<Collective> only) {
    std::vector<Job> jobs;
    while (jobs.size() < count) {
        const Algorithm* const algorithm = catalogue()[random() % catalogue().size()];
        if (only && algorithm->collective != *only) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
        const auto problems = sample(algorithm->collective, ranks, random() % 2 == 0 ? 8 : 300);
        const Problem& problem = problems[random() % problems.size()];
        if (!algorithm->applies(problem, choice.parameters)) continue;
        Job job{build_all(problem, choice), problem};
        if (has_all(job.lists)) jobs.push_back(std::move(job));
    }
    return jobs;
}

inline std::string describe(const std::string& wrong, unsigned seed, const std::vector<Job>& jobs) {
    std::string what = wrong + ", seed " + std::to_string(seed) + ":";
    for (const Job& job : jobs) what += " [" + job.lists.algorithm + " " + print(job.problem) + "]";
    return what;
}

// Some problems of each algorithm, for each number of ranks; `check` gets a number for each.
inline void check_each_algorithm(const std::function<void(const Job&, unsigned)>& check) {
    for (const Algorithm* const algorithm : catalogue()) {
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {1, 2, 3, 4, 7}) {
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            unsigned number = 0;
            for (const Problem& problem : sample(algorithm->collective, ranks, 40)) {
                if (!algorithm->applies(problem, choice.parameters) || ++number > 12) continue;
                const Job job{build_all(problem, choice), problem};
                SCOPED_TRACE(print(problem) + " " + print(choice));
                ASSERT_TRUE(has_all(job.lists));
                check(job, number);
            }
        }
    }
}

using Events = std::vector<std::function<void()>>;

// Messages between two ranks arrive in their order; others in any.
class Wires {
  public:
    std::deque<std::function<void()>>& operator()(int from, int to) { return wires_[{from, to}]; }
    void offer(Events& events) {
        for (auto& [pair, messages] : wires_)
            if (!messages.empty())
                events.push_back([&wire = messages] {
                    auto message = std::move(wire.front());
                    wire.pop_front();
                    message();
                });
    }
    bool empty() const {
        return std::all_of(wires_.begin(), wires_.end(), [](const auto& one) { return one.second.empty(); });
    }

  private:
    std::map<std::pair<int, int>, std::deque<std::function<void()>>> wires_;
};

// Of the works that wait for others, those that a fault can be planted into.
inline std::vector<Work*> waiting_works(std::vector<Work>& works) {
    std::vector<Work*> waiting;
    for (Work& work : works) {
        const auto kind = work.trigger.counter.kind;
        if (kind == Counter::Kind::landed || kind == Counter::Kind::gate || kind == Counter::Kind::stage)
            waiting.push_back(&work);
    }
    return waiting;
}

// `at`: where a place is in this run; `place_of_result`: where in `reduced` a result goes.
template <typename At, typename PlaceOfResult>
void reduce_in_stage(const Stage& stage, Bytes& reduced, At at, PlaceOfResult place_of_result) {
    const auto together = [&](const std::vector<Piece>& pieces) {
        Bytes bytes;
        for (const Piece& piece : pieces) {
            const std::byte* const from = at(piece.place);
            bytes.insert(bytes.end(), from, from + piece.bytes);
        }
        return bytes;
    };
    for (const Reduction& one : stage.reductions) {
        const Bytes source = together(one.source);
        Bytes result = together(one.target);
        if (one.op == Operator::user)
            Composition().reduce(result.data(), source.data(), one.bytes);
        else
            reduce(one.op, one.type, result.data(), source.data(), one.bytes);
        std::copy(result.begin(), result.end(),
                  reduced.begin() + static_cast<std::ptrdiff_t>(place_of_result(one.result)));
    }
}

// What the run leaves in `out`.
template <typename At>
void move_into(Bytes& out, const std::vector<Move>& moves, At at) {
    const Bytes before = out;
    for (const Move& move : moves) {
        const std::byte* from =
            move.source.memory == Place::Memory::out ? before.data() + move.source.offset : at(move.source);
        std::copy_n(from, move.bytes, out.begin() + static_cast<std::ptrdiff_t>(move.target));
    }
}

}  // namespace lapwing::triggered::testing_triggered
