// A list prepared for the host engine.
#pragma once

#include <vector>

#include "base/object_pool.hpp"
#include "engines/engine.hpp"
#include "engines/messages.hpp"
#include "engines/progress_thread.hpp"
#include "task/list.hpp"

namespace lapwing {

class HostPrepared : public Prepared {
  public:
    // `progress_thread` advances runs, too, if any thread may use `link`. It may be null.
    HostPrepared(const List& list, Link& link, ProgressThread* progress_thread = nullptr);
    ~HostPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int prepare_to_sleep(Operation*) override { return link_.poll_descriptor(); }
    std::optional<Position> position(Operation* operation) override;

  private:
    struct HostRun;

    struct Step {
        Task task;
        std::size_t index = 0;  // send, recv: the transfer; wait: the end of its receives (MessagePlan)
    };

    // The thread that advances a run.
    enum class Caller {
        start,    // a thread of the program in start(), which does not poll yet
        program,  // a thread of the program
        progress_thread,
    };
    bool advance(HostRun& run, Caller caller);
    bool do_tasks(HostRun& run, Caller caller);
    template <bool traced>
    bool do_tasks(HostRun& run, Caller caller);
    void start_shared(HostRun& run);
    bool test_shared(HostRun& run);
    bool release(HostRun& run);

    Link& link_;
    ProgressThread* const progress_thread_;  // null: only threads of the program advance runs
    const bool traced_;
    std::uint64_t scratch_bytes_;
    bool is_short_ = false;
    std::vector<Step> steps_;
    MessagePlan messages_;
    ObjectPool<HostRun> runs_;
};

}  // namespace lapwing
