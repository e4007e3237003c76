// A list prepared for the host engine.
#pragma once

#include <memory>

#include "engines/engine.hpp"
#include "engines/messages.hpp"
#include "engines/progress_thread.hpp"
#include "task/list.hpp"

namespace lapwing {

class HostPrepared : public Prepared {
  public:
    // What the prepared lists of a group share, with the runs that they use in turn: a new list then finds
    // memory for its run, and its scratch.
    struct Shared;
    // `progress_thread` advances runs, too, if any thread may use `link`. It may be null.
    static std::shared_ptr<Shared> share(Link& link, ProgressThread* progress_thread);

    HostPrepared(List list, std::shared_ptr<Shared> shared);
    ~HostPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int prepare_to_sleep(Operation*) override;
    std::optional<Position> position(Operation* operation) override;

  private:
    struct HostRun;

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

    const std::shared_ptr<Shared> shared_;
    Link& link_;
    ProgressThread* const progress_thread_;  // null: only threads of the program advance runs
    const List list_;
    const MessagePlan messages_;
    bool is_short_ = false;
    int in_flight_ = 0;
};

}  // namespace lapwing
