// A job whose ranks are threads of a test: they exchange bytes in memory, and all else is real.
#pragma once

#include "engines/engine.hpp"
#include "engines/job.hpp"
#include "support/unit.hpp"

namespace lapwing::testing_engines {

// What the ranks of one job share.
class Meeting {
  public:
    explicit Meeting(int ranks) : barrier_(ranks), blocks_(static_cast<std::size_t>(ranks)) {}
    std::vector<std::vector<std::byte>> exchange(int rank, std::span<const std::byte> mine) {
        blocks_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
        barrier_.arrive_and_wait();
        const auto all = blocks_;
        barrier_.arrive_and_wait();
        return all;
    }

  private:
    std::barrier<> barrier_;
    std::vector<std::vector<std::byte>> blocks_;
};

class ThreadJob final : public Job {
  public:
    ThreadJob(std::shared_ptr<Meeting> meeting, int rank, int ranks, const Settings& settings)
        : Job(rank, ranks, settings), meeting_(std::move(meeting)) {}
    ~ThreadJob() override { close_sockets(); }
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        return meeting_->exchange(rank(), mine);
    }
    void leave_together(const std::function<void()>&) override { exchange({}); }
    void warn(const std::string&) override {}

  private:
    const std::shared_ptr<Meeting> meeting_;
};

// An engine that every rank of a job has opened.
class OpenedEngine {
  public:
    OpenedEngine(const Engine& engine, int ranks, const Settings& settings) {
        const auto meeting = std::make_shared<Meeting>(ranks);
        Settings all = settings;
        if (all.tcp_interface.empty()) all.tcp_interface = "127.0.0.1";
        jobs_.resize(static_cast<std::size_t>(ranks));
        engines_.resize(jobs_.size());
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                const auto at = static_cast<std::size_t>(rank);
                jobs_[at] = std::make_unique<ThreadJob>(meeting, rank, ranks, all);
                engines_[at] = engine.open(*jobs_[at]);
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    std::unique_ptr<GroupEngine> open(int rank, const EngineGroup& group) {
        JobEngine& engine = of(rank);
        return engine.open(group, engine.reserve(group.members));
    }
    JobEngine& of(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }
    void fail(int rank, const std::string& why) { engines_[static_cast<std::size_t>(rank)]->fail(why); }

  private:
    std::vector<std::unique_ptr<Job>> jobs_;
    std::vector<std::unique_ptr<JobEngine>> engines_;
};

}  // namespace lapwing::testing_engines
