// What the kernel engine keeps for a group: its ring, its lanes, and the runs in flight. Any thread may call
// any of it; one at a time is inside.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class Reactor : public GroupState {
  public:
    // The group's; made when there is none yet. Throws Error (system).
    static std::shared_ptr<Reactor> of(const Ground& ground);
    explicit Reactor(const Ground& ground);
    ~Reactor() override;

    // Asks for the connections of a plan.
    void want(const Plan& plan);
    // Hands the run over. It takes the lane that its channel names, after those that took it before.
    void start(Run& run, std::uint32_t channel);
    // As Prepared's; true when the run is complete and forgotten here. Throw Error (link) when it has failed.
    bool test(Run& run);
    bool press(Run& run);
    int rest(Run& run);

  private:
    // Lists that move no more than this are taken back by a caller who waits: nothing is lost by that, and an
    // interrupt for each message is saved.
    static constexpr std::uint64_t most_bytes_by_hand = 16384;

    // All of these with the mutex held.
    void add(Run& run);
    void remove(Run& run);
    void launch(Run& run);
    void enter_stage(Run& run, std::size_t stage);
    void add_lines(Run& run, const std::vector<PlannedChain>& chains);
    void hand_over(Run& run);
    void submit(Run& run);
    void submit_line(Run& run, std::size_t index);
    void move_lines_by_hand(Run& run);
    void advance(Run& run, bool may_work);
    void take_back(Run& run);
    void reap();
    void handle(const io_uring_cqe& completion);
    void settle(bool may_work);
    void complete(Run& run);
    void fail(Run& run, const std::string& why);
    std::string told(const Run& run, const PlannedStep& step, int error) const;
    bool result(Run& run);
    void ask_attendant();
    bool attendant_is_needed() const;

    // On the attendant's thread.
    void attend();

    // What the attendant's thread holds on to: it finds nobody there when the reactor is gone.
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
    const Ground ground_;  // a copy without state
    std::mutex mutex_;
    Ring ring_;
    Gates gates_;
    std::vector<Run*> runs_;  // by id; null where free
    std::vector<std::uint32_t> free_ids_;
    const std::size_t turns_;              // lanes that are taken in turn
    std::vector<std::deque<Run*>> lanes_;  // the first of each is on its way, the others wait for it
    std::vector<Run*> touched_;            // by completions, and not looked at since
    std::vector<Run*> workless_;           // whose local work waits for a thread of the program
    bool attending_ = false;               // it is the attendant's thread that looks
    bool watched_ = false;                 // the attendant looks at the ring
};

}  // namespace lapwing::kernel
