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

  private:
    struct Run;

    // A task, and which transfers it starts or waits for.
    struct Step {
        Task task;
        std::size_t index = 0;  // send, recv: its transfer; wait: where its receives end
    };

    bool advance(Run& run, bool may_wait);

    Link& link_;
    std::uint64_t scratch_bytes_;
    std::vector<Step> steps_;
    MessagePlan messages_;
    std::vector<std::unique_ptr<Run>> runs_;  // every run ever made
    std::vector<Run*> idle_;                  // those that can be started again
};

}  // namespace lapwing
