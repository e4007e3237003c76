// All ranks as state machines: what each has done of its list and of its program, and its clocks.
//
// A rank runs ahead by itself until it needs a message whose arrival is not known yet. The program's clock is
// moved lazily: it stands at the last MPI call that mattered, and the pieces of work behind it follow when a
// task needs a call, or at the end.
#pragma once

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "simulate/costs.hpp"
#include "simulate/setting.hpp"

namespace lapwing::simulate {

class Ranks {
  public:
    Ranks(const Lists& lists, const Setting& setting);

    enum class Progress : std::uint8_t { waits, begins, ends };

    // Runs a rank until it waits for a message, or has ended an iteration and is about to begin the next one,
    // or has ended. `send(rank, step, time)` is called for each message, with the time at which the rank is
    // done with it; intra-node messages arrive by themselves, and ranks that wait for them come onto woken().
    template <class Send>
    Progress run(int rank, Send&& send);

    // A message is there at this time. True when its rank waits for it and must be run.
    bool arrive(std::uint32_t slot, Time time) {
        Time& place = arrivals_[slot];
        if (place == awaited) {
            place = time;
            return true;
        }
        if (place == none) {
            place = time;
        } else {
            early_[slot].push_back(time);  // of a later iteration: the sender is ahead
        }
        return false;
    }

    // When the rank's sending interface passes a message that the processor has finished at `done`.
    Passage enter_interface(int rank, Time done, Time wire) {
        return state_of(rank).interface.pass(done, done, parameters_.gap, wire, burst_);
    }
    Time burst() const { return burst_; }
    // When a rank's engine has done a task of a rendezvous that becomes possible at `ready`.
    Time attend(int rank, Time ready);
    bool by_rendezvous(const Step& step) const {
        return messages_ != Runner::offload && costs_[step.length].windows > 0;
    }
    // Of the rank's long messages one has been handed over. True when nothing else keeps it from its end.
    bool hand_over(int rank) {
        State& state = state_of(rank);
        return --state.handshakes == 0 && state.step == lists_.first_step[static_cast<std::size_t>(rank) + 1];
    }
    bool is_inside(int rank, int iteration) const {
        const State& state = states_[static_cast<std::size_t>(rank)];
        return state.inside && state.iteration == iteration;
    }
    int iteration(int rank) const { return states_[static_cast<std::size_t>(rank)].iteration; }
    const Cost& cost_of(const Step& step) const { return costs_[step.length]; }
    // All ranks that are between two iterations begin the next one together. Returns when.
    Time gather();
    Time clock(int rank) const { return states_[static_cast<std::size_t>(rank)].program; }
    std::vector<int>& woken() { return woken_; }
    std::uint64_t received() const { return received_; }

  private:
    static constexpr Time none = -1;
    static constexpr Time awaited = -2;

    struct State {
        Time program = 0;     // the processor's clock
        Time runner = 0;      // of the progress thread, the kernel or the card
        Occupancy interface;  // the sending one
        Time call = 0;        // when the call of MPI began in which the program is, or was last
        Time taken = 0;       // from the work to come, by the thread or the kernel
        std::uint32_t step = 0;
        std::int32_t iteration = 0;
        std::int32_t pieces = 0;      // of work, before the wait
        std::int32_t handshakes = 0;  // long messages that are not handed over
        bool inside = false;          // the collective is started
    };

    State& state_of(int rank) { return states_[static_cast<std::size_t>(rank)]; }
    bool is_near(int rank, int peer) const {
        return network_ != nullptr && network_->host_of(rank) == network_->host_of(peer);
    }
    Time on_processor(int rank, Time begin, Time work) {
        return noisy_ ? processors_[static_cast<std::size_t>(rank)].finish(noise_, begin, work)
                      : begin + work;
    }

    [[noreturn]] static void refuse_late();
    void start(int rank, State& state);
    void finish(int rank, State& state);
    void work_until(int rank, State& state, Time until);
    Time perform(int rank, State& state, Runner runner, Time ready, Time work);
    Time send_by_loggopsim(int rank, State& state, const Cost& cost);
    void receive_by_loggopsim(int rank, State& state, Time arrival, const Cost& cost);
    void consume(std::uint32_t slot);

    const Lists& lists_;
    const Parameters parameters_;
    const Program program_;
    const EngineCosts engine_costs_;
    const Noise noise_;
    const Network* network_;
    const bool noisy_;
    const Time burst_;
    Runner messages_;
    Runner local_;
    Time piece_ = 0;       // of work
    Time last_piece_ = 0;  // the rest
    std::vector<Cost> costs_;
    std::vector<State> states_;
    std::vector<Time> arrivals_;  // by slot
    std::unordered_map<std::uint32_t, std::deque<Time>> early_;
    std::vector<NoiseStream> processors_;
    std::vector<NoiseStream> thread_processors_;
    std::vector<int> woken_;
    std::uint64_t received_ = 0;
};

template <class Send>
Ranks::Progress Ranks::run(int rank, Send&& send) {
    State& state = state_of(rank);
    if (!state.inside) start(rank, state);
    const Step* const all = lists_.steps.data();
    const std::uint32_t end = lists_.first_step[static_cast<std::size_t>(rank) + 1];
    for (; state.step < end; ++state.step) {
        const Step& step = all[state.step];
        const Cost& cost = costs_[step.length];
        switch (step.what()) {
            case Step::Kind::send:
                if (parameters_.rules == Rules::loggopsim) {
                    send(rank, step, send_by_loggopsim(rank, state, cost));
                } else if (is_near(rank, step.peer)) {
                    const Time done = perform(rank, state, local_, 0, cost.near_processor);
                    if (arrive(step.slot, done + parameters_.near_latency + cost.near_wire)) {
                        woken_.push_back(step.peer);
                    }
                } else {
                    if (by_rendezvous(step)) ++state.handshakes;
                    send(rank, step, perform(rank, state, messages_, 0, cost.processor));
                }
                break;
            case Step::Kind::wait: {
                const Time arrival = arrivals_[step.slot];
                if (arrival < 0) {
                    arrivals_[step.slot] = awaited;
                    return Progress::waits;
                }
                if (arrival > latest) refuse_late();
                consume(step.slot);
                if (parameters_.rules == Rules::loggopsim) {
                    receive_by_loggopsim(rank, state, arrival, cost);
                } else {
                    const bool near = is_near(rank, step.peer);
                    perform(rank, state, near ? local_ : messages_, arrival,
                            near ? cost.near_processor : cost.processor);
                }
                break;
            }
            case Step::Kind::copy:
                perform(rank, state, local_, 0, cost.copy);
                break;
            case Step::Kind::reduce:
                perform(rank, state, local_, 0, cost.reduce);
                break;
        }
    }
    if (state.handshakes > 0) return Progress::waits;
    finish(rank, state);
    return state.iteration == program_.iterations ? Progress::ends : Progress::begins;
}

}  // namespace lapwing::simulate
