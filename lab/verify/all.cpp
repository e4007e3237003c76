#include "verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "chains/check.hpp"
#include "collectives/catalogue.hpp"
#include "lapwing/common/progress_bar.hpp"
#include "plan/list_files.hpp"
#include "samples/random_problem.hpp"
#include "simulate/random.hpp"
#include "task/lowering.hpp"
#include "task/sample.hpp"

namespace lapwing::tool {
namespace {

constexpr std::size_t max_examples = 8;
// Tasks of a random problem's lists, of all ranks: the lists and their proof take about 4 GB.
constexpr std::uint64_t max_sample_tasks = std::uint64_t{1} << 24;
// Draws until an algorithm that takes few problems, such as powers of two, has one.
constexpr std::uint64_t max_draws = 16;

// One algorithm with all problems of one number of ranks, or with one random problem.
struct Job {
    Choice choice;
    int ranks = 1;             // of a random problem: the smallest number, up to Work::ranks.last
    std::uint64_t sample = 0;  // the seed of a random problem; 0: none
};

// The default values, and each parameter in turn at its least, next to its default and well above it.
std::vector<Choice> variations(const Algorithm& algorithm) {
    const Parameters usual = default_parameters(algorithm);
    std::vector<Choice> result = {{&algorithm, usual}};
    for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
        const Parameter& parameter = algorithm.parameters[i];
        for (const std::int64_t value :
             {parameter.min, parameter.default_value + 1, 2 * parameter.default_value + 3}) {
            Choice choice{&algorithm, usual};
            choice.parameters[i] = std::clamp(value, parameter.min, parameter.max);
            if (std::find(result.begin(), result.end(), choice) == result.end()) result.push_back(choice);
        }
    }
    return result;
}

// Sizes that a block may have: none, one byte or element, fewer elements than most groups have ranks, and
// such that few numbers of ranks divide.
std::vector<std::uint64_t> sizes_of(Collective collective) {
    if (collective == Collective::barrier) return {0};
    if (has_parts(collective)) return {0, is_reduction(collective) ? 24U : 1U, 1000};
    if (is_reduction(collective)) return {0, 8, 24, 1000, 4096};
    return {0, 1, 8, 1000, 4096};
}

std::vector<Problem> problems_of(const Job& job) {
    const Collective collective = job.choice.algorithm->collective;
    std::vector<Problem> problems;
    const auto sample = job.choice.algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
    for (const std::uint64_t bytes : sizes_of(collective)) {
        for (Problem& problem : sample(collective, job.ranks, bytes)) problems.push_back(std::move(problem));
    }
    return problems;
}

class Verification {
  public:
    explicit Verification(const Work& work) : work_(work) {
        // Few ranks first: the shortest counter-examples come first, and every algorithm is tried early.
        if (work.samples > 0) draw_jobs();
        for (int ranks = work.ranks.first; work.samples == 0 && ranks <= work.ranks.last; ++ranks)
            for (const Choice& choice : work.choices) jobs_.push_back({choice, ranks});
    }

    Outcome run() {
        double total = 0;
        for (const Job& job : jobs_) total += weight(job);
        {
            ProgressBar bar(total);
            std::vector<std::thread> others;
            const std::size_t threads =
                std::min<std::size_t>(std::thread::hardware_concurrency(), jobs_.size());
            for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&] { work_on_jobs(bar); });
            work_on_jobs(bar);
            for (std::thread& other : others) other.join();
        }
        for (auto& [key, example] : examples_) outcome_.examples.push_back(std::move(example));
        return std::move(outcome_);
    }

  private:
    // The time that a job takes, in no unit.
    static double weight(const Job& job) {
        return job.sample != 0 ? 1 : static_cast<double>(job.ranks) * job.ranks;
    }

    // Each sample of an algorithm has its next choice of parameters.
    void draw_jobs() {
        std::vector<std::vector<Choice>> algorithms;
        for (const Choice& choice : work_.choices) {
            if (algorithms.empty() || algorithms.back().front().algorithm != choice.algorithm)
                algorithms.emplace_back();
            algorithms.back().push_back(choice);
        }
        std::uint64_t number = 0;
        for (int sample = 0; sample < work_.samples; ++sample) {
            const int ranks = sample == 0 ? work_.ranks.last : work_.ranks.first;
            for (const std::vector<Choice>& choices : algorithms) {
                const std::uint64_t seed = simulate::random_bits(work_.seed, 0, ++number) | 1;
                jobs_.push_back({choices[static_cast<std::size_t>(sample) % choices.size()], ranks, seed});
            }
        }
    }

    static bool is_small(const Problem& problem, const Choice& choice) {
        const std::uint64_t of_root = build(problem, problem.root, choice).tasks.size();
        const std::uint64_t of_other = build(problem, problem.ranks / 2, choice).tasks.size();
        return of_root + of_other * static_cast<std::uint64_t>(problem.ranks) <= max_sample_tasks;
    }

    // Of as many ranks as memory permits. The last draw if the algorithm declines all.
    std::vector<Problem> sample_problem(const Job& job) const {
        const Algorithm& algorithm = *job.choice.algorithm;
        Problem problem;
        int first = job.ranks;
        int last = work_.ranks.last;
        for (std::uint64_t draw = 0; draw < max_draws; ++draw) {
            problem = random_problem(algorithm.collective, first, last, algorithm.knows_hosts,
                                     simulate::random_bits(job.sample, 1, draw));
            if (!job.choice.applies(problem)) continue;
            if (is_small(problem, job.choice)) break;
            last = problem.ranks / 2;
            first = std::min(first, last);
        }
        return {problem};
    }

    void work_on_jobs(ProgressBar& bar) {
        for (std::size_t i = next_++; i < jobs_.size(); i = next_++) {
            Tally tally;
            std::vector<CounterExample> examples;
            const Job& job = jobs_[i];
            for (const Problem& problem : job.sample != 0 ? sample_problem(job) : problems_of(job))
                prove(problem, job.choice, tally, examples);
            keep(i, tally, examples);
            bar.advance(weight(jobs_[i]));
        }
    }

    void prove(const Problem& problem, const Choice& choice, Tally& tally,
               std::vector<CounterExample>& examples) const {
        if (const Verdict verdict = choice.applies(problem); !verdict) {
            ++tally.declined;
            if (tally.why_declined.empty()) tally.why_declined = verdict.reason();
            return;
        }
        ++tally.problems;
        const auto refute = [&](std::size_t violations, std::string why) {
            tally.violations += violations;
            examples.push_back({problem, choice, std::move(why)});
        };
        try {
            std::vector<List> lists;
            lists.reserve(static_cast<std::size_t>(problem.ranks));
            for (int rank = 0; rank < problem.ranks; ++rank) {
                lists.push_back(build(problem, rank, choice));
                tally.longest_queue = std::max(tally.longest_queue, depth(lower(lists.back())));
            }
            const std::vector<Violation> violations = check(problem, lists, work_.limits);
            if (!violations.empty()) return refute(violations.size(), violations.front().what(lists));
            tally.lists += lists.size();
            tally.max_ranks = std::max(tally.max_ranks, problem.ranks);
            if (!work_.chains) return;
            if (const auto fault = check_chains_on_hosts(lists)) return refute(1, fault->what(lists));
            tally.chains += lists.size();
        } catch (const std::exception& error) {
            refute(1, fmt::format("cannot be built: {}", error.what()));
        }
    }

    void keep(std::size_t job, const Tally& tally, const std::vector<CounterExample>& examples) {
        const std::lock_guard lock(mutex_);
        outcome_.tallies[jobs_[job].choice.algorithm].add(tally);
        for (const CounterExample& example : examples) {
            const Problem& problem = example.problem;
            examples_.emplace(std::tuple(problem.ranks, problem.bytes, problem.root, job), example);
        }
        while (examples_.size() > max_examples) examples_.erase(std::prev(examples_.end()));
    }

    const Work& work_;
    std::vector<Job> jobs_;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;
    // The shortest ones. The job is a part of the key: the same ones whichever thread is ahead.
    std::multimap<std::tuple<int, std::uint64_t, int, std::size_t>, CounterExample> examples_;
    Outcome outcome_;
};

}  // namespace

std::vector<Choice> choices_to_verify(std::optional<Collective> collective, const std::string& algorithm) {
    std::vector<Choice> result;
    if (const std::string file(list_file_of(algorithm)); !file.empty()) {
        if (collective) return {read_choice(*collective, algorithm)};
        for (const UserLists* lists : read_list_file(file)) result.push_back({&lists->algorithm(), {}});
        return result;
    }
    std::vector<std::string> valid;
    const std::string wanted = algorithm.substr(0, algorithm.find(':'));
    for (const Algorithm* row : catalogue()) {
        if (collective && row->collective != *collective) continue;
        valid.emplace_back(row->name);
        if (!algorithm.empty() && row->name != wanted) continue;
        if (wanted != algorithm)
            result.push_back(parse_choice(row->collective, algorithm));
        else
            for (const Choice& choice : variations(*row)) result.push_back(choice);
    }
    if (!result.empty()) return result;
    if (valid.empty())
        throw Error(ErrorCode::unsupported, fmt::format("{} has no algorithm", name(*collective)));
    throw Error(ErrorCode::invalid_argument,
                fmt::format("unknown algorithm '{}'{}", wanted, suggestion(wanted, valid)));
}

void Tally::add(const Tally& other) {
    lists += other.lists;
    chains += other.chains;
    problems += other.problems;
    declined += other.declined;
    if (why_declined.empty()) why_declined = other.why_declined;
    longest_queue = std::max(longest_queue, other.longest_queue);
    max_ranks = std::max(max_ranks, other.max_ranks);
    violations += other.violations;
}

Tally Outcome::total() const {
    Tally sum;
    for (const auto& [algorithm, tally] : tallies) sum.add(tally);
    return sum;
}

Outcome verify_all(const Work& work) {
    return Verification(work).run();
}

}  // namespace lapwing::tool
