// Ranks as threads of one process, and the runs of one rank, for tests of engines.
#pragma once

#include "base/error.hpp"
#include "engines/expected.hpp"
#include "support/complete.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing::testing_engines {

using namespace std::chrono_literals;

// Calls `body` on a thread for each rank. An Error fails the test, and the other ranks no longer wait for
// that rank at the barrier. `on_error` is called before.
inline void on_ranks(int ranks, const std::function<void(int rank, std::barrier<>& together)>& body,
                     const std::function<void()>& on_error = {}) {
    std::barrier<> together(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                body(rank, together);
            } catch (const Error& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
                if (on_error) on_error();
                together.arrive_and_drop();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

// Counts the reductions of the thread that made it, and those of other threads.
class CountingComposition : public Composition {
  public:
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        ++(std::this_thread::get_id() == maker_ ? calls_ : calls_of_others_);
        Composition::reduce(target, source, bytes);
    }
    int calls() const { return calls_; }
    int calls_of_others() const { return calls_of_others_; }

  private:
    const std::thread::id maker_ = std::this_thread::get_id();
    std::atomic<int> calls_ = 0;
    std::atomic<int> calls_of_others_ = 0;
};

// One rank's buffers and runs of one problem.
class RankRuns {
  public:
    RankRuns(const Problem& problem, int rank, std::unique_ptr<Prepared> prepared)
        : problem_(problem), rank_(rank), prepared_(std::move(prepared)) {}

    // Starts a run on `channel`, by default that of the run's number.
    Operation* start(std::optional<std::uint32_t> channel = std::nullopt) {
        const int number = started_++;
        Run& run = *runs_.emplace_back(std::make_unique<Run>(
            Run{number, in_of(problem_, rank_, number), out_before(problem_, rank_, number)}));
        return start(run, channel.value_or(static_cast<std::uint32_t>(number)));
    }
    // Starts a run in the buffers of the last run, which must be complete.
    Operation* start_again(std::uint32_t channel) {
        if (runs_.empty()) return start(channel);
        Run& run = *runs_.back();
        run.number = started_++;
        std::ranges::copy(in_of(problem_, rank_, run.number), run.in.begin());
        std::ranges::copy(out_before(problem_, rank_, run.number), run.out.begin());
        return start(run, channel);
    }
    // Tests one of the runs in flight; returns true if none is left.
    bool test_one(std::mt19937& random) {
        if (operations_.empty()) return true;
        test(operations_[random() % operations_.size()]);
        return operations_.empty();
    }
    bool test(Operation* operation) {
        if (!prepared_->test(operation)) return false;
        std::erase(operations_, operation);
        return true;
    }
    std::size_t in_flight() const { return operations_.size(); }
    void wait_all(bool last_first = false) {
        if (last_first) std::reverse(operations_.begin(), operations_.end());
        for (Operation* operation : operations_) wait(*prepared_, operation);
        operations_.clear();
    }

    // Compares faster than vectors do without optimization.
    static std::string_view text(const Bytes& bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    // Whether the outputs of all runs are right. Reads memory that other threads write, which the thread
    // sanitizer must not report.
    __attribute__((no_sanitize("thread"))) bool right() const {
        for (const auto& run : runs_) {
            const volatile std::byte* have = run->out.data();
            Bytes now(run->out.size());
            std::byte* const copy = now.data();
            for (std::size_t i = 0, length = now.size(); i < length; ++i) copy[i] = have[i];
            if (text(now) != text(out_after(problem_, rank_, run->number, now))) return false;
        }
        return true;
    }
    // Waits until right(), without a call of the engine.
    bool becomes_right(std::chrono::milliseconds limit = 20s) const {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (!right()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }

    int rank() const { return rank_; }
    Prepared& prepared() { return *prepared_; }
    Operation* operation() { return operations_.back(); }
    const CountingComposition& reducer() const { return reducer_; }

  private:
    struct Run {
        int number = 0;
        Bytes in, out;
    };
    Operation* start(Run& run, std::uint32_t channel) {
        operations_.push_back(prepared_->start({run.in.data(), run.out.data(), &reducer_}, channel));
        return operations_.back();
    }

    Problem problem_;
    int rank_;
    std::unique_ptr<Prepared> prepared_;
    int started_ = 0;
    std::vector<std::unique_ptr<Run>> runs_;  // which write into the buffers, so these must not move
    std::vector<Operation*> operations_;      // in flight
    CountingComposition reducer_;
};

}  // namespace lapwing::testing_engines
