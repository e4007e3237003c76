// The engine's part in one group.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "engines/mlx5/keep_alive.hpp"
#include "engines/mlx5/lane.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/link.hpp"
#include "task/problem.hpp"

namespace lapwing::mlx5 {

class Group {
  public:
    Group(Device& device, Link& messages, const WorkVariant& variant);

    Device& device() { return device_; }
    Link& messages() { return messages_; }
    KeepAlive& keep_alive() { return *keep_alive_; }  // where there is a lane
    const WorkVariant& variant() const { return variant_; }
    // Whether lists of all ranks may have queues to all others.
    Verdict has_memory_for(int ranks) const;
    WorkLimits limits(int ranks) const;
    // Shared lanes are taken in turn; a kept channel has its own.
    Lane& lane(std::uint32_t channel, int ranks);

    // Of a problem's lists, where messages are written (landing.hpp); none: they are sent. Equal on all
    // ranks, which ask for the same problems in the same order.
    std::optional<std::uint32_t> number_of_landing(const Problem& problem);

    // Whether to ask peers now whether they are there: from time to time, for who waits.
    bool time_to_ask();
    // Nothing goes on: all runs fail, and peers that ask get no answer.
    void fail(const std::string& why);
    const std::string& error() const { return error_; }

    // Before a caller sleeps: the next completion that any lane needs makes a descriptor readable. -1:
    // something is not connected yet.
    int arm();
    // Before completions are read: those that come later make the descriptor readable again.
    void forget_events();

  private:
    using Clock = std::chrono::steady_clock;

    Device& device_;
    Link& messages_;
    const WorkVariant variant_;
    std::uint32_t depth_;
    bool armed_ = false;
    std::string error_;  // why it cannot be used any more
    std::vector<Problem> with_landing_;
    Clock::time_point next_question_;
    std::unique_ptr<KeepAlive> keep_alive_;
    std::map<std::uint32_t, std::unique_ptr<Lane>> lanes_;
};

}  // namespace lapwing::mlx5
