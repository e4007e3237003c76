// All ranks as state machines: what each has done of its program and of the lists that it has started, and
// its clocks.
//
// Where an engine has one task after the other, a rank runs ahead by itself until it needs a message whose
// arrival is not known yet. The program's clock is moved lazily: it stands at the last MPI call that
// mattered, and the pieces of work behind it follow when a task needs a call, or at the end. With
// rendezvous it is *timed*: tasks begin in the order in which they can, so a rank goes no further than to a
// horizon, before which all arrivals are known.
#pragma once

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "simulate/costs.hpp"
#include "simulate/setting.hpp"

namespace lapwing::simulate {

// A message that a rank has sent.
struct SentMessage {
    std::uint32_t slot = 0;
    std::int32_t peer = 0;  // the receiver
    std::uint32_t cost = 0;
};

class Ranks {
  public:
    Ranks(const Lists& lists, const Setting& setting, bool timed);

    enum class Progress : std::uint8_t { waits, begins, ends };
    struct Turn {
        Progress progress = Progress::waits;
        Time next = never;  // waits: when it can go on, as far as that is known
    };

    // Runs a rank, up to the horizon, until it waits for a message, or has ended an iteration and is about to
    // begin the next one, or has ended. `send(rank, message, time)` is called for each message, with the time
    // at which the rank is done with it; intra-node messages arrive by themselves, and ranks that wait for
    // them come onto woken(). `called(rank)` is called after each start of a collective, before its first
    // task.
    template <class Send, class Called>
    Turn run(int rank, Time horizon, Send&& send, Called&& called);

    // A message is there at this time. True when its rank waits for it and must be run.
    bool arrive(std::uint32_t slot, Time time) {
        Time& place = arrivals_[slot];
        if (place == awaited) {
            place = time;
            return true;
        }
        if (place == none)
            place = time;
        else
            early_[slot].push_back(time);  // of a later start: the sender is ahead
        return false;
    }

    // When the rank's sending interface passes a message that the processor has finished at `done`.
    Time enter_interface(int rank, Time done, Time wire) {
        return state_of(rank).interface.pass(done, parameters_.gap, wire);
    }
    // When a rank's engine has done a task of a rendezvous that becomes possible at `ready`.
    Time attend(int rank, Time ready);
    bool by_rendezvous(std::uint32_t cost) const { return costs_[cost].windows > 0; }
    // Of the rank's long messages one has been handed over. True when the rank may go on with that.
    bool hand_over(int rank);
    // The number of the rank's last start.
    std::uint64_t number_of_start(int rank) const { return states_[static_cast<std::size_t>(rank)].number; }
    // Whether the receiver has started what this start of the sender belongs to.
    bool has_started(const SentMessage& message, std::uint64_t number) const {
        const State& state = states_[static_cast<std::size_t>(message.peer)];
        return state.number == number && state.active;
    }
    const Cost& cost(std::uint32_t index) const { return costs_[index]; }
    Time clock(int rank) const { return states_[static_cast<std::size_t>(rank)].program; }
    std::vector<int>& woken() { return woken_; }
    std::uint64_t received() const { return received_; }
    bool timed() const { return timed_; }

  private:
    static constexpr Time none = -1;
    static constexpr Time awaited = -2;

    enum class Stage : std::uint8_t { between_iterations, start, work, wait };

    struct State {
        Time program = 0;          // the processor's clock
        Time thread = 0;           // the progress thread's
        Time runner = 0;           // when the last task of the list was done
        Occupancy interface;       // the sending one
        Time call = 0;             // when the call of MPI began in which the program is, or was last
        std::uint64_t number = 0;  // of starts
        std::uint32_t step = 0;    // of the list, the next one
        std::uint32_t end = 0;
        std::int32_t handshakes = 0;  // long messages that are not handed over
        std::int32_t iteration = 0;
        std::int32_t pieces = 0;  // of the work that the program is in
        Stage stage = Stage::between_iterations;
        bool active = false;   // the collective is not waited for yet
        bool complete = true;  // the collective is
        bool fresh = false;    // has just started a collective
    };

    // The length of a piece of the work; the last one has the rest.
    Time piece() const { return program_.work / (program_.tests + 1); }
    Time last_piece() const { return program_.work - piece() * program_.tests; }

    State& state_of(int rank) { return states_[static_cast<std::size_t>(rank)]; }
    bool is_near(int rank, int peer) const {
        return network_ != nullptr && network_->host_of(rank) == network_->host_of(peer);
    }
    Time on_processor(int rank, Time begin, Time work) {
        return noisy_ ? processors_[static_cast<std::size_t>(rank)].finish(noise_, begin, work)
                      : begin + work;
    }

    [[noreturn]] static void refuse_late();
    // When the next task of the rank's list can begin; `never` while the arrival of what it waits for is not
    // known, and behind the last task.
    Time next_task(const State& state);
    template <class Send>
    void perform_step(int rank, State& state, Send&& send);
    static void complete(State& state);
    void start(int rank, State& state);
    void work_piece(int rank, State& state);
    void work_until(int rank, State& state, Time until);
    Time perform(int rank, State& state, Runner runner, Time ready, Time work);
    void consume(std::uint32_t slot);

    const Lists& lists_;
    const Parameters parameters_;
    const Program program_;
    const EngineCosts engine_costs_;
    const Noise noise_;
    const Network* network_;
    const bool noisy_;
    const bool timed_;
    const Runner messages_;  // who runs sends and waits
    const Runner local_;     // copies, reductions and intra-node messages
    std::vector<Cost> costs_;
    std::vector<State> states_;
    std::vector<Time> arrivals_;  // by slot
    std::unordered_map<std::uint32_t, std::deque<Time>> early_;
    std::vector<NoiseStream> processors_;
    std::vector<NoiseStream> thread_processors_;
    std::vector<int> woken_;
    std::uint64_t received_ = 0;
};

inline Time Ranks::next_task(const State& state) {
    if (state.step == state.end) return never;
    const Step& step = lists_.steps[state.step];
    if (step.what() != Step::Kind::wait) return state.runner;
    Time& arrival = arrivals_[step.slot];
    if (arrival < 0) {
        arrival = awaited;
        return never;
    }
    if (arrival > latest) refuse_late();
    return std::max(arrival, state.runner);
}

template <class Send>
void Ranks::perform_step(int rank, State& state, Send&& send) {
    const Step& step = lists_.steps[state.step++];
    const Cost& cost = costs_[step.length];
    switch (step.what()) {
        case Step::Kind::send: {
            const SentMessage message{step.slot, step.peer, step.length};
            if (is_near(rank, step.peer)) {
                const Time done = perform(rank, state, local_, 0, cost.near_processor);
                if (arrive(message.slot, done + cost.near_latency + cost.near_wire))
                    woken_.push_back(step.peer);
            } else {
                if (by_rendezvous(message.cost)) ++state.handshakes;
                send(rank, message, perform(rank, state, messages_, 0, cost.processor));
            }
            break;
        }
        case Step::Kind::wait: {
            const Time arrival = arrivals_[step.slot];
            consume(step.slot);
            const bool near = is_near(rank, step.peer);
            perform(rank, state, near ? local_ : messages_, arrival,
                    near ? cost.near_processor : cost.processor);
            break;
        }
        case Step::Kind::copy:
            perform(rank, state, local_, 0, cost.copy);
            break;
        case Step::Kind::reduce:
            perform(rank, state, local_, 0, cost.reduce);
            break;
    }
    if (state.step == state.end) complete(state);
}

template <class Send, class Called>
Ranks::Turn Ranks::run(int rank, Time horizon, Send&& send, Called&& called) {
    State& state = state_of(rank);
    if (state.stage == Stage::between_iterations) {
        state.program += program_.lateness.of(rank, state.iteration);
        state.stage = Stage::start;
    }
    for (;;) {
        const Time ready = next_task(state);
        if (ready < horizon) {
            perform_step(rank, state, send);
            continue;
        }
        if (state.stage == Stage::start) {
            if (state.program >= horizon) return {Progress::waits, std::min(ready, state.program)};
            start(rank, state);
            called(rank);
            continue;
        }
        if (state.stage == Stage::work) {
            // Without a horizon it works when a task needs a call, or when there is no task any more.
            if (!timed_ && !state.complete) return {};
            // Who waits for a receive of what was just started is answered before that.
            if (state.program >= horizon || state.fresh) {
                state.fresh = false;
                return {Progress::waits, std::min(ready, state.program)};
            }
            work_piece(rank, state);
            continue;
        }
        if (!state.complete) return {Progress::waits, ready};
        state.program = std::max(state.program, state.runner);
        if (state.program > latest) refuse_late();
        state.active = false;
        state.stage = Stage::between_iterations;
        ++state.iteration;
        return {state.iteration == program_.iterations ? Progress::ends : Progress::begins};
    }
}

}  // namespace lapwing::simulate
