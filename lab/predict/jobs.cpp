#include "predict/jobs.hpp"
#include "base/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace lapwing::tool {
namespace {

constexpr double messages_per_second = 3e6;

double messages_of(const std::vector<Job*>& jobs) {
    double messages = 0;
    for (const Job* job : jobs) messages += static_cast<double>(job->messages);
    return messages;
}

// How long it takes, about, in seconds of one processor.
double seconds_of(double messages) {
    return messages / messages_per_second;
}

// Hands out jobs so that those that run at a time fit into the memory together.
class Runs {
  public:
    Runs(const Study& study, const std::vector<Job*>& jobs,
         const std::function<void(std::size_t, ProgressBar&)>& simulate)
        : study_(study), jobs_(jobs), simulate_(simulate), bar_(messages_of(jobs)) {}

    void run() {
        std::vector<std::thread> threads;
        const auto count = std::min(static_cast<std::size_t>(study_.threads), jobs_.size());
        for (std::size_t i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
        for (std::thread& thread : threads) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    // Returns the number of jobs if there is none left.
    std::size_t take() {
        std::unique_lock lock(mutex_);
        while (next_ < jobs_.size() && !failure_) {
            Job& job = *jobs_[next_];
            if (running_ > 0 && in_use_ + job.memory > study_.memory) {
                changed_.wait(lock);
                continue;
            }
            ++running_;
            in_use_ += job.memory;
            return next_++;
        }
        return jobs_.size();
    }

    void work() {
        for (std::size_t index = take(); index < jobs_.size(); index = take()) {
            try {
                simulate_(index, bar_);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                if (!failure_) failure_ = std::current_exception();
            }
            const std::lock_guard lock(mutex_);
            --running_;
            in_use_ -= jobs_[index]->memory;
            changed_.notify_all();
        }
    }

    const Study& study_;
    const std::vector<Job*>& jobs_;
    const std::function<void(std::size_t, ProgressBar&)>& simulate_;
    ProgressBar bar_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_ = 0;
    int running_ = 0;
    std::uint64_t in_use_ = 0;
    std::exception_ptr failure_;
};

}  // namespace

std::string Job::refusal(const Study& study) const {
    if (memory <= study.memory) return {};
    return fmt::format("{}: it needs about {} MiB, more than the limit of {} MiB (--memory)", what,
                       memory >> 20, study.memory >> 20);
}

std::string needs_of(const Study& study, const std::vector<Job*>& jobs) {
    std::uint64_t max_memory = 0;
    for (const Job* job : jobs) max_memory = std::max(max_memory, job->memory);
    const auto threads = std::min(static_cast<std::size_t>(study.threads), jobs.size());
    return fmt::format("{}, about {:.3g} million messages, up to {} MiB for a case; about {:.0f} s",
                       counted(jobs.size(), "case"), messages_of(jobs) * 1e-6,
                       std::max<std::uint64_t>(max_memory >> 20, 1),
                       std::max(1.0, seconds_of(messages_of(jobs)) / static_cast<double>(threads)));
}

void run(const Study& study, const std::vector<Job*>& jobs,
         const std::function<void(std::size_t, ProgressBar&)>& simulate) {
    Runs(study, jobs, simulate).run();
}

}  // namespace lapwing::tool
