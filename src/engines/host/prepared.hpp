// A list made ready for the host engine.
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "engines/messages.hpp"
#include "engines/progress_thread.hpp"
#include "task/list.hpp"

namespace lapwing {

class HostPrepared : public Prepared {
  public:
    // `progress thread`: who moves what is in flight, too, where the link lets it; null: nobody.
    HostPrepared(const List& list, Link& link, ProgressThread* progress_thread = nullptr);
    ~HostPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int prepare_to_sleep(Operation*) override { return link_.poll_descriptor(); }

  private:
    struct Run;

    // A task, and which transfers it starts or waits for.
    struct Step {
        Task task;
        std::size_t index = 0;  // send, recv: its transfer; wait: where its receives end
    };

    enum class Mover {
        starter,  // who does not look yet for what has come
        program,  // a thread of the program
        progress_thread,
    };
    bool advance(Run& run, Mover mover);
    template <bool traced>
    bool do_tasks(Run& run, Mover mover);
    bool go_on(Run& run, Mover mover);
    void start_beside_progress_thread(Run& run);
    bool go_on_beside_progress_thread(Run& run);
    bool go_on_held(Run& run);
    bool end_hold(Run& run);

    Link& link_;
    ProgressThread* const progress_thread_;  // null: the program's threads alone move the runs
    const bool traced_;
    std::uint64_t scratch_bytes_;
    bool is_short_ = false;
    std::vector<Step> steps_;
    MessagePlan messages_;
    std::vector<std::unique_ptr<Run>> runs_;  // every run ever made
    std::vector<Run*> idle_;                  // those that can be started again
};

}  // namespace lapwing
