// Chooses who advances the short reductions of one call site: the event thread, while the program computes,
// or the program's own calls.
//
// The kernel cannot reduce, so between the messages of such a list a thread must work. Waking the event
// thread for each message hides the list behind the program's computation, and takes time from it. A program
// that waits at once only loses by that. Therefore both ways are measured for each list and call site:
//   - a run counts as overlapped if the program was away for `min_away` before it waited. A site whose last
//     two runs were not both overlapped is advanced by the program's calls: it has nothing to hide.
//   - the cost of an overlapped run is the time that the program spends in the start and in the wait, plus
//   the
//     time that the event thread takes from its computation. That is how much longer the program is away than
//     without the thread, at most the thread's processor time.
//   - the way with the lower median is taken. Trials of both ways are repeated, ever more rarely.
// Which way is tried depends on the number of the run, so all ranks try the same way at the same time. Each
// rank then decides alone: the messages are the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "engines/engine.hpp"
#include "task/problem.hpp"

namespace lapwing::kernel {

// The time of one run, in nanoseconds.
struct RunTimes {
    bool by_thread = false;
    std::uint64_t start = 0;   // inside the starting call
    std::uint64_t away = 0;    // from there to the first call that waited for the run
    std::uint64_t wait = 0;    // from there to the end; 0 if no call waited
    std::uint64_t thread = 0;  // processor time of the event thread
};

class ThreadChoice {
  public:
    // Less is too short for a wake-up and one step.
    static constexpr std::uint64_t min_away = 20'000;
    static constexpr std::size_t samples = 9;  // of each way; the median counts
    // Runs of one way in a row during trials. Odd, so that programs which repeat two or four reductions try
    // both ways with each.
    static constexpr std::uint64_t block = 3;
    // Trials are repeated from run 512, 1024, 2048, ... on, for so many runs.
    static constexpr std::uint64_t first_repetition = 512;
    static constexpr std::uint64_t repetition = 8 * block;

    // Returns whether the event thread must advance the next run.
    bool next();
    void completed(const RunTimes& times);
    // Median cost in nanoseconds, by way: the program's calls, the event thread. Negative before there are
    // enough samples.
    const std::array<double, 2>& costs() const { return costs_; }

  private:
    bool in_trial() const;

    std::uint64_t runs_ = 0;
    unsigned overlapped_in_a_row_ = 0;
    bool decided_ = false;
    bool chosen_ = false;
    // The last samples of one way.
    struct Samples {
        std::array<std::uint64_t, samples> in_calls{};
        std::array<std::uint64_t, samples> away{};
        std::array<std::uint64_t, samples> thread{};
        std::size_t count = 0;
    };
    std::array<Samples, 2> samples_;
    std::array<double, 2> costs_ = {-1, -1};
};

// The decisions of a job, for the report. Thread-safe.
class ThreadRecords {
  public:
    struct Row {
        std::uint64_t runs[2] = {0, 0};  // by way
        double costs[2] = {-1, -1};      // nanoseconds: the last known medians
    };
    void add(const Problem& problem, bool by_thread, const std::array<double, 2>& costs);
    // A sentence for each collective, class of sizes and number of ranks that has been decided.
    std::vector<std::string> in_words() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::tuple<Collective, int, std::uint64_t>, Row> rows_;  // collective, ranks, max. bytes
};

}  // namespace lapwing::kernel
