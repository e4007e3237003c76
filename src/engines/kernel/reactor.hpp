// What the kernel engine keeps for a group: its ring, its lanes, and the runs in flight. Any thread may call
// any of it; one at a time is inside. the event thread's thread comes in, too, but leaves alone what is only
// for threads of the program: the link to intra-node peers, and the caller's own function.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"
#include "links/event/poll_set.hpp"

namespace lapwing::kernel {

class Reactor : public GroupState {
  public:
    // The group's; made when there is none yet. Throws Error (system).
    static std::shared_ptr<Reactor> of(const EngineContext& context);
    explicit Reactor(const EngineContext& context);
    ~Reactor() override;

    // Asks for the connections of a plan.
    void want(const ChainPlan& plan);
    // Hands the run over. It takes the lane that its channel names, after those that took it before.
    void start(Run& run, std::uint32_t channel);
    // As Prepared's; true when the run is complete and forgotten here. Throw Error (link) when it has failed.
    bool test(Run& run);
    bool progress(Run& run);
    int prepare_to_sleep(Run& run);

  private:
    // Lists that move no more than this are taken back by a caller who waits: nothing is lost by that, and an
    // interrupt for each message is saved.
    static constexpr std::uint64_t most_bytes_inline = 16384;

    // All of these with the mutex held.
    void add(Run& run);
    void remove(Run& run);
    void launch(Run& run);
    bool may_enter_stage(const Run& run) const;
    void enter_stage(Run& run);
    void add_lines(Run& run, const std::vector<PlannedChain>& chains);
    void hand_over(Run& run);
    void submit(Run& run);
    void submit_line(Run& run, std::size_t index);
    bool without_copy(const PlannedStep& step, std::uint64_t bytes) const;
    void come_back(Run& run, Line& line);
    void move_lines_inline(Run& run);
    void advance(Run& run, bool may_work);
    enum class StepResult {
        on,
        waits,  // for what the kernel tells
        held,   // for a thread of the program
    };
    StepResult run_host_steps(Run& run, bool may_work);
    StepResult run_host_step(Run& run, const HostStep& host_step, bool may_work);
    bool intra_node_is_ready();
    void tell_intra_node();
    bool exchange_intra_node(Run& run, const HostStep& host_step);
    void look_at_intra_node(Run& run);
    void resume_needing_thread();
    void take_back(Run& run);
    void reap();
    void handle(const io_uring_cqe& completion);
    void settle(bool may_work);
    void complete(Run& run);
    void fail(Run& run, const std::string& why);
    std::string told(const Run& run, const PlannedStep& step, int error) const;
    bool result(Run& run);
    void ask_event_thread();
    bool event_thread_is_needed() const;

    // On the event thread.
    void attend();

    // What the event thread holds on to: it finds nobody there when the reactor is gone.
    struct Door {
        std::mutex mutex;
        Reactor* reactor = nullptr;
        void attend() {
            const std::lock_guard lock(mutex);
            if (reactor != nullptr) reactor->attend();
        }
    };

    std::size_t lane_of(std::uint32_t channel);

    Connections& connections_;
    const std::shared_ptr<Door> door_ = std::make_shared<Door>();
    const EngineContext context_;  // a copy without state
    std::mutex mutex_;
    Ring ring_;
    Gates gates_;
    std::vector<Run*> runs_;  // by id; null where free
    std::vector<std::uint32_t> free_ids_;
    const std::size_t shared_lanes_;       // lanes that are taken in turn
    std::vector<std::deque<Run*>> lanes_;  // the first of each is on its way, the others wait for it
    std::vector<Run*> touched_;            // by completions, and not looked at since
    std::vector<Run*> needing_thread_;     // that can go on by a thread of the program only
    bool attending_ = false;               // it is the event thread that looks
    bool wants_thread_ = false;            // it has found something to do for a thread of the program
    bool intra_node_ready_ = false;
    std::uint64_t told_ = 0;  // completions that have moved a run
    PollSet poll_set_;
    bool watched_ = false;  // the event thread looks at the ring
};

}  // namespace lapwing::kernel
