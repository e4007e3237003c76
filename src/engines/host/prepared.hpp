// A list made ready for the host engine.
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "engines/messages.hpp"
#include "task/list.hpp"

namespace lapwing {

class HostPrepared : public Prepared {
  public:
    HostPrepared(const List& list, Link& link);
    ~HostPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int rest(Operation*) override { return link_.rest(); }
    bool sleep(Operation*, std::chrono::nanoseconds limit) override { return link_.sleep(limit); }

  protected:
    struct Run;

    template <bool traced>
    Operation* start_run(const Buffers& buffers, std::uint32_t channel);
    template <bool traced>
    bool test_run(Operation* operation);

  private:
    // A task, and which transfers it starts or waits for.
    struct Step {
        Task task;
        std::size_t index = 0;  // send, recv: its transfer; wait: where its receives end
    };

    template <bool traced>
    bool advance(Run& run, bool may_wait);

    Link& link_;
    std::uint64_t scratch_bytes_;
    std::vector<Step> steps_;
    MessagePlan messages_;
    std::vector<std::unique_ptr<Run>> runs_;  // every run ever made
    std::vector<Run*> idle_;                  // those that can be started again
};

// The same; each task is recorded. A class of its own, so that the other has nothing to ask.
class TracedHostPrepared final : public HostPrepared {
  public:
    using HostPrepared::HostPrepared;
    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
};

}  // namespace lapwing
