// What the kernel engine keeps for a group: its ring, its lanes, and the runs in flight. Any thread may call
// any of it; one at a time is inside. The attendant's thread comes in, too, but leaves alone what is only for
// threads of the program: the link to near peers, and the caller's own function.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"
#include "links/either.hpp"

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
    bool may_enter_stage(const Run& run) const;
    void enter_stage(Run& run);
    void add_lines(Run& run, const std::vector<PlannedChain>& chains);
    void hand_over(Run& run);
    void submit(Run& run);
    void submit_line(Run& run, std::size_t index);
    bool without_copy(const PlannedStep& step, std::uint64_t bytes) const;
    void come_back(Run& run, Line& line);
    void move_lines_by_hand(Run& run);
    void advance(Run& run, bool may_work);
    enum class Turned {
        on,
        waits,  // for what the kernel tells
        held,   // for a thread of the program
    };
    Turned take_turns(Run& run, bool may_work);
    Turned take_turn(Run& run, const Turn& turn, bool may_work);
    bool near_is_ready();
    void tell_near();
    bool exchange_near(Run& run, const Turn& turn);
    void look_at_near(Run& run);
    void call_in_threadless();
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
    std::vector<Run*> threadless_;         // that can go on by a thread of the program only
    bool attending_ = false;               // it is the attendant's thread that looks
    bool wants_thread_ = false;            // it has found something to do for a thread of the program
    bool near_ready_ = false;
    std::uint64_t told_ = 0;  // completions that have moved a run
    Either either_;
    bool watched_ = false;  // the attendant looks at the ring
};

}  // namespace lapwing::kernel
