// The mlx5 engine in one group.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "engines/job_failure.hpp"
#include "engines/mlx5/keep_alive.hpp"
#include "engines/mlx5/lane.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/link.hpp"
#include "task/problem.hpp"

namespace lapwing::mlx5 {

class Group {
  public:
    Group(Device& device, Link& messages, const WorkVariant& variant, const JobFailure* failure = nullptr);

    Device& device() { return device_; }
    Link& messages() { return messages_; }
    // Throws Error (link) once the job has failed.
    void check_job() const {
        if (failure_ != nullptr) failure_->check();
    }
    KeepAlive& keep_alive() { return *keep_alive_; }  // only if there is a lane
    const WorkVariant& variant() const { return variant_; }
    // Whether there is memory for queues from each rank to all others.
    Verdict has_memory_for(int ranks) const;
    WorkLimits limits(int ranks) const;
    // Other channels share lanes; a persistent channel has a lane of its own.
    Lane& lane(std::uint32_t channel, int ranks);

    // The number of the landing (landing.hpp) for the lists of a problem; none if messages are sent. The
    // first call for a problem draws the number. Equal on all ranks, which must ask for the same problems in
    // the same order.
    std::optional<std::uint32_t> number_of_landing(const Problem& problem);

    // Whether it is time again to ask silent peers.
    bool time_to_ask();
    // Fails all runs. Peers that ask get no answer any more.
    void fail(const std::string& why);
    const std::string& error() const { return error_; }

    // Call it before the caller sleeps: the next completion that a lane needs makes the returned descriptor
    // readable. While a lane is connecting, returns the descriptor of the messages' link, which may be -1.
    int arm();
    // Call it before completions are read: later completions make the descriptor readable again.
    void forget_events();

  private:
    using Clock = std::chrono::steady_clock;

    Device& device_;
    Link& messages_;
    const JobFailure* const failure_;  // of the job; null: none is reported
    const WorkVariant variant_;
    std::uint32_t depth_;
    bool armed_ = false;
    std::string error_;  // why the group failed; empty: it did not
    std::vector<Problem> with_landing_;
    Clock::time_point next_question_;
    std::unique_ptr<KeepAlive> keep_alive_;
    std::map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
};

}  // namespace lapwing::mlx5
