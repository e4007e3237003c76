// All ranks as state machines: what each has done of its program and of the lists that it has started, and
// its clocks.
//
// Where an engine has one task after the other, a rank runs ahead by itself until it needs a message whose
// arrival is not known yet. The program's clock is moved lazily: it stands at the last MPI call that
// mattered, and the pieces of work behind it follow when a task needs a call, or at the end. With several
// collectives in flight, and with rendezvous, it is *timed*: tasks begin in the order in which
// they can, so a rank goes no further than to a horizon, before which all arrivals are known.
#pragma once

#include <algorithm>
#include <deque>
#include <span>
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
    std::int32_t request = 0;
};

class Ranks {
  public:
    Ranks(int ranks, std::span<const Operation> operations, const Setting& setting, bool timed);

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
        if (place == none) {
            place = time;
        } else {
            early_[slot].push_back(time);  // of a later start: the sender is ahead
        }
        return false;
    }

    // When the rank's sending interface passes a message that the processor has finished at `done`.
    Passage enter_interface(int rank, Time done, Time wire) {
        return state_of(rank).interface.pass(done, done, parameters_.gap, wire, burst_);
    }
    Time burst() const { return burst_; }
    // When a rank's engine has done a task of a rendezvous that becomes possible at `ready`.
    Time attend(int rank, int request, Time ready);
    bool by_rendezvous(std::uint32_t cost) const { return costs_[cost].windows > 0; }
    // Of the rank's long messages one has been handed over. True when the rank may go on with that.
    bool hand_over(int rank, int request);
    // Which start of the request it is, of all that the rank has made, or is about to.
    std::uint64_t number_of_start(int rank, int request) const { return flight_of(rank, request).number; }
    // Returns the receiver's request if the receiver has started what this start of the sender belongs to;
    // else -1.
    int request_of_receiver(const SentMessage& message, std::uint64_t number) const {
        const Flight& flight = flight_of(message.peer, message.request);
        return flight.number == number && flight.active ? message.request : -1;
    }
    const Cost& cost(std::uint32_t index) const { return costs_[index]; }
    // All ranks that are between two iterations begin the next one together. Returns when.
    Time gather();
    Time clock(int rank) const { return states_[static_cast<std::size_t>(rank)].program; }
    std::vector<int>& woken() { return woken_; }
    std::uint64_t received() const { return received_; }
    bool timed() const { return timed_; }

  private:
    static constexpr Time none = -1;
    static constexpr Time awaited = -2;

    struct State {
        Time program = 0;          // the processor's clock
        Time thread = 0;           // the progress thread's
        Occupancy interface;       // the sending one
        Time call = 0;             // when the call of MPI began in which the program is, or was last
        Time taken = 0;            // from the work to come, by the thread or the kernel
        Time busy = 0;             // until when collectives were in flight that are complete now
        std::int32_t action = -1;  // -1: between two iterations
        std::int32_t iteration = 0;
        std::int32_t pieces = 0;  // of the work that the program is in
        std::int32_t open = 0;    // collectives that are not complete
        bool in_call = true;      // what stands behind a piece of work is a call
        bool idle_test = false;   // which has found nothing, so far
        bool fresh = false;       // has just started a collective
    };

    // A collective that a rank has started: of each request the last one.
    struct Flight {
        Time runner = 0;  // when its last task was done
        std::uint64_t number = 0;
        std::uint32_t step = 0;
        std::uint32_t end = 0;
        std::uint32_t first_slot = 0;  // of the rank's group
        std::int32_t first_rank = 0;   // of the rank's group
        std::int32_t channel = 0;
        std::int32_t handshakes = 0;  // long messages that are not handed over
        bool active = false;          // not waited for yet
        bool complete = true;
    };

    // An operation started with a request: its messages are apart from those of others in flight.
    struct Channel {
        const Lists* lists = nullptr;
        std::int32_t operation = 0;
        std::int32_t stride = 1;
        std::int32_t rotation = 0;
        std::uint32_t first_slot = 0;
        std::uint32_t first_cost = 0;
        Time overhead = 0;
        Runner messages = Runner::calls;
        Runner local = Runner::calls;

        std::int32_t rank(std::int32_t first, std::int32_t member) const {
            const std::int32_t place = member + rotation;
            return first + (place >= lists->ranks ? place - lists->ranks : place) * stride;
        }
    };

    // The length of a piece of an action's work; the last one has the rest.
    static Time piece_of(const Action& action) { return action.work / (action.tests + 1); }
    static Time last_piece_of(const Action& action) { return action.work - piece_of(action) * action.tests; }

    State& state_of(int rank) { return states_[static_cast<std::size_t>(rank)]; }
    Flight& flight_of(int rank, int request) {
        return flights_[first_flight_index(rank) + static_cast<std::size_t>(request)];
    }
    const Flight& flight_of(int rank, int request) const {
        return flights_[first_flight_index(rank) + static_cast<std::size_t>(request)];
    }
    std::size_t first_flight_index(int rank) const {
        return static_cast<std::size_t>(rank) * static_cast<std::size_t>(requests_);
    }
    bool is_near(int rank, int peer) const {
        return network_ != nullptr && network_->host_of(rank) == network_->host_of(peer);
    }
    Time on_processor(int rank, Time begin, Time work) {
        return noisy_ ? processors_[static_cast<std::size_t>(rank)].finish(noise_, begin, work)
                      : begin + work;
    }

    [[noreturn]] static void refuse_late();
    std::uint32_t add_costs(const Lists& lists, Runner messages);
    void add_channels(std::span<const Operation> operations, const Setting& setting);
    // Of the collectives in flight the one whose next task can begin first, and when.
    std::pair<Flight*, Time> first_flight(int rank);
    Time ready(Flight& flight);
    template <class Send>
    void perform_step(int rank, State& state, Flight& flight, Send&& send);
    void complete(State& state, Flight& flight);
    void next_action(int rank, State& state);
    void start(int rank, State& state, const Action& action);
    void work_piece(int rank, State& state);
    void work_until(int rank, State& state, Time until);
    Time perform(int rank, State& state, Flight& flight, Runner runner, Time ready, Time work);
    void take(int rank, State& state, Time begin, Time work);
    void consume(std::uint32_t slot);

    const int ranks_;
    const Parameters parameters_;
    const std::vector<Action> actions_;
    const int iterations_;
    const Lateness lateness_;
    const EngineCosts engine_costs_;
    const Noise noise_;
    const Network* network_;
    const bool noisy_;
    const Time burst_;
    const int requests_;
    const bool timed_;
    bool threads_ = false;                         // some progress thread runs tasks
    std::vector<std::int32_t> channel_of_action_;  // of `actions_`
    std::vector<Channel> channels_;
    std::vector<Cost> costs_;
    std::vector<State> states_;
    std::vector<Flight> flights_;  // rank after rank
    std::vector<Time> arrivals_;   // by slot
    std::unordered_map<std::uint32_t, std::deque<Time>> early_;
    std::vector<NoiseStream> processors_;
    std::vector<NoiseStream> thread_processors_;
    std::vector<int> woken_;
    std::uint64_t received_ = 0;
};

// `never` while the arrival of what it waits for is not known.
inline Time Ranks::ready(Flight& flight) {
    const Step& step = channels_[static_cast<std::size_t>(flight.channel)].lists->steps[flight.step];
    if (step.what() != Step::Kind::wait) return flight.runner;
    Time& arrival = arrivals_[flight.first_slot + step.slot];
    if (arrival < 0) {
        arrival = awaited;
        return never;
    }
    if (arrival > latest) refuse_late();
    return std::max(arrival, flight.runner);
}

inline std::pair<Ranks::Flight*, Time> Ranks::first_flight(int rank) {
    std::pair<Flight*, Time> first{nullptr, never};
    const std::size_t first_index = first_flight_index(rank);
    const auto requests = static_cast<std::size_t>(requests_);
    for (Flight& flight : std::span(flights_).subspan(first_index, requests)) {
        if (flight.step == flight.end) continue;
        const Time when = ready(flight);
        if (when < first.second) first = {&flight, when};
    }
    return first;
}

template <class Send>
void Ranks::perform_step(int rank, State& state, Flight& flight, Send&& send) {
    const Channel& channel = channels_[static_cast<std::size_t>(flight.channel)];
    const Step& step = channel.lists->steps[flight.step++];
    const std::uint32_t cost_index = channel.first_cost + step.length;
    const Cost& cost = costs_[cost_index];
    switch (step.what()) {
        case Step::Kind::send: {
            const std::int32_t peer = channel.rank(flight.first_rank, step.peer);
            const auto request = static_cast<std::int32_t>(&flight - &flight_of(rank, 0));
            const SentMessage message{flight.first_slot + step.slot, peer, cost_index, request};
            if (is_near(rank, peer)) {
                const Time done = perform(rank, state, flight, channel.local, 0, cost.near_processor);
                if (arrive(message.slot, done + cost.near_latency + cost.near_wire)) {
                    woken_.push_back(peer);
                }
            } else {
                if (by_rendezvous(cost_index)) ++flight.handshakes;
                send(rank, message, perform(rank, state, flight, channel.messages, 0, cost.processor));
            }
            break;
        }
        case Step::Kind::wait: {
            const std::uint32_t slot = flight.first_slot + step.slot;
            const Time arrival = arrivals_[slot];
            consume(slot);
            const bool near = is_near(rank, channel.rank(flight.first_rank, step.peer));
            perform(rank, state, flight, near ? channel.local : channel.messages, arrival,
                    near ? cost.near_processor : cost.processor);
            break;
        }
        case Step::Kind::copy:
            perform(rank, state, flight, channel.local, 0, cost.copy);
            break;
        case Step::Kind::reduce:
            perform(rank, state, flight, channel.local, 0, cost.reduce);
            break;
    }
    if (flight.step == flight.end) complete(state, flight);
}

template <class Send, class Called>
Ranks::Turn Ranks::run(int rank, Time horizon, Send&& send, Called&& called) {
    State& state = state_of(rank);
    if (state.action < 0) {
        state.program += lateness_.of(rank, state.iteration);
        next_action(rank, state);
    }
    for (;;) {
        const auto [flight, ready] = first_flight(rank);
        if (flight != nullptr && ready < horizon) {
            perform_step(rank, state, *flight, send);
            continue;
        }
        if (state.pieces > 0) {
            // Without a horizon it works when a task needs a call, or when there is no task any more.
            if (!timed_ && state.open > 0) return {};
            // Who waits for a receive of what was just started is answered before that.
            if (state.program >= horizon || state.fresh) {
                state.fresh = false;
                return {Progress::waits, std::min(ready, state.program)};
            }
            work_piece(rank, state);
            continue;
        }
        if (state.action == static_cast<std::int32_t>(actions_.size())) {
            if (state.program > latest) refuse_late();
            state.action = -1;
            ++state.iteration;
            return {state.iteration == iterations_ ? Progress::ends : Progress::begins};
        }
        const Action& action = actions_[static_cast<std::size_t>(state.action)];
        if (action.kind != Action::Kind::wait) {
            if (state.program >= horizon) return {Progress::waits, std::min(ready, state.program)};
            start(rank, state, action);
            called(rank);
            continue;
        }
        Flight& awaited_flight = flight_of(rank, action.request);
        if (!awaited_flight.complete) return {Progress::waits, ready};
        state.program = std::max(state.program, awaited_flight.runner);
        awaited_flight.active = false;
        next_action(rank, state);
    }
}

}  // namespace lapwing::simulate
