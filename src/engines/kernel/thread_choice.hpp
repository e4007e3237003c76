// Chooses who advances the short reductions of one call site: the event thread, while the program computes,
// or the program's own calls.
//
// The kernel cannot reduce, so between the messages of such a list a thread must work. Waking the event
// thread for each message hides the list behind the program's computation, and takes time from it. A program
// that waits at once only loses by that. Therefore both ways are measured for each list and call site:
//   - a run counts as overlapped if the program was away for `min_away` before it waited, and not because it
//     started many more. A site whose last two runs were not both overlapped is advanced by the program's
//     calls: it has nothing to hide.
//   - both ways are tried in turn, for a block of runs each. The cost is the period: the time from one start
//     to the next, which is an iteration of the program. It contains all that the program loses: the start,
//     the wait, interruptions of its computation, and the waits of other calls for a rank that was
//     interrupted. The reductions synchronize the ranks, so all ranks measure nearly the same period.
//   - the event thread is chosen if it is clearly faster in most pairs of a block by the thread and a block
//     by the calls. Trials are repeated, ever more rarely.
// Which way is tried depends on the number of the run, so all ranks try the same way at the same time, and
// the call sites of one loop try it together: the loop is then measured as a whole. Each rank decides alone:
// the messages are the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/samples.hpp"
#include "engines/engine.hpp"
#include "task/problem.hpp"

namespace lapwing::kernel {

class ThreadChoice {
  public:
    // Nanoseconds. Less is too short for a wake-up and one step.
    static constexpr std::uint64_t min_away = 20'000;
    // Runs of one way in a row during trials. The first period of a block still depends on the way before;
    // two periods are left, so that a loop with two reductions is measured as a whole.
    static constexpr std::uint64_t block = 3;
    static constexpr std::size_t samples = 7;  // blocks of each way
    static constexpr double clearly = 0.97;    // the faster time by the slower time, at most
    // Trials are repeated from run 512, 1024, 2048, ... on, for so many runs.
    static constexpr std::uint64_t first_repetition = 512;
    static constexpr std::uint64_t repetition = 2 * samples * block;

    // Starts the next run at the time `now`, in nanoseconds. Returns whether the event thread must advance
    // the run.
    bool next(std::uint64_t now);
    // A later run starts while runs are in flight on all lanes: the program waits for those that next()
    // started only when it has started the others, and hides nothing meanwhile.
    void crowd() { crowded_ = true; }
    // A run has completed. `away`: nanoseconds from the start to the first call that waited for the run.
    void completed(std::uint64_t away);
    // Median periods in nanoseconds, by way: the program's calls, the event thread. Negative before there are
    // enough samples.
    const std::array<double, 2>& periods() const { return periods_; }

  private:
    void end_block(std::uint64_t now);

    std::uint64_t runs_ = 0;
    unsigned overlapped_in_a_row_ = 0;
    bool crowded_ = false;  // since the last next()
    bool decided_ = false;
    bool chosen_ = false;
    struct {
        bool by_thread = false;
        bool measured = false;    // a trial, and all its runs so far followed overlapped runs
        std::uint64_t began = 0;  // its second run
    } block_;
    std::array<Samples<double, samples>, 2> samples_;  // by way: mean periods of a block
    std::array<double, 2> periods_ = {-1, -1};
};

// The decisions of a job, for the report. Thread-safe.
class ThreadRecords {
  public:
    struct Row {
        std::uint64_t runs[2] = {0, 0};  // by way
        double periods[2] = {-1, -1};    // nanoseconds: the last known medians
    };
    void add(const Problem& problem, bool by_thread, const std::array<double, 2>& periods);
    // A sentence for each collective, class of sizes and number of ranks that has been decided.
    std::vector<std::string> in_words() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::tuple<Collective, int, std::uint64_t>, Row> rows_;  // collective, ranks, max. bytes
};

}  // namespace lapwing::kernel
