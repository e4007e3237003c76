#include "simulate/ranks.hpp"

#include "base/error.hpp"

namespace lapwing::simulate {
namespace {

// Apart from those of the programs' processors.
constexpr std::uint64_t first_thread_processor = std::uint64_t{1} << 31;

}  // namespace

Ranks::Ranks(const Lists& lists, const Setting& setting)
    : lists_(lists),
      parameters_(setting.parameters),
      program_(setting.program),
      engine_costs_(setting.costs),
      noise_(setting.noise),
      network_(setting.network),
      noisy_(setting.noise.kind != Noise::Kind::none),
      burst_(std::llround(static_cast<double>(setting.parameters.burst_bytes) * setting.parameters.per_byte)),
      messages_(setting.engine.messages),
      local_(lists.most_bytes_of_a_rank > most_short_bytes ? setting.engine.long_local
                                                           : setting.engine.local),
      costs_(costs_of(lists, setting.parameters)),
      states_(static_cast<std::size_t>(lists.ranks)),
      arrivals_(lists.messages(), none) {
    for (State& state : states_) state.interface.free = -burst_;
    piece_ = program_.work / (program_.tests + 1);
    last_piece_ = program_.work - piece_ * program_.tests;
    if (!noisy_) return;
    const bool threads = messages_ == Runner::thread || local_ == Runner::thread;
    for (int rank = 0; rank < lists.ranks; ++rank) {
        const auto number = static_cast<std::uint64_t>(rank);
        processors_.emplace_back(noise_, number);
        if (threads) thread_processors_.emplace_back(noise_, first_thread_processor + number);
    }
}

void Ranks::refuse_late() {
    throw Error(ErrorCode::unsupported, "the simulated time is longer than 26 days");
}

void Ranks::start(int rank, State& state) {
    state.program += program_.lateness.of(rank, state.iteration);
    if (program_.beside) {
        state.pieces = program_.work > 0 || program_.tests > 0 ? program_.tests + 1 : 0;
    } else {
        state.program = on_processor(rank, state.program, program_.work);
    }
    state.runner = std::max(state.runner, state.program);
    state.step = lists_.first_step[static_cast<std::size_t>(rank)];
    state.call = state.program;
    state.inside = true;
}

void Ranks::finish(int rank, State& state) {
    // Tests of a collective that is complete find it so.
    while (state.pieces > 0) {
        const Time piece = --state.pieces == 0 ? last_piece_ : piece_;
        state.program = on_processor(rank, state.program, piece + state.taken);
        state.taken = 0;
    }
    if (parameters_.rules == Rules::lapwing) state.program = std::max(state.program, state.runner);
    if (state.program > latest) refuse_late();
    state.inside = false;
    ++state.iteration;
}

Time Ranks::gather() {
    Time last = 0;
    for (const State& state : states_) last = std::max(last, state.program);
    for (State& state : states_) state.program = last;
    return last;
}

// Goes on to the first MPI call at or after this time.
void Ranks::work_until(int rank, State& state, Time until) {
    while (state.program < until && state.pieces > 0) {
        const Time piece = --state.pieces == 0 ? last_piece_ : piece_;
        state.program = on_processor(rank, state.program, piece + state.taken);
        state.call = state.program;
        state.taken = 0;
        if (state.program < until && state.pieces > 0) {
            state.program = on_processor(rank, state.program, engine_costs_.test);
        }
    }
    // The wait.
    state.program = std::max(state.program, until);
}

// A start or a test deals with what is there when it begins, a wait with everything.
Time Ranks::attend(int rank, Time ready) {
    State& state = state_of(rank);
    if (messages_ == Runner::calls && state.pieces > 0 && ready > state.call) {
        work_until(rank, state, std::max(ready, state.program + 1));
    }
    return perform(rank, state, messages_, ready, parameters_.overhead);
}

// A task that cannot run before `ready`, nor before the task that stands before it in the list. Returns when
// it is done.
Time Ranks::perform(int rank, State& state, Runner runner, Time ready, Time work) {
    if (runner == Runner::calls) {
        work_until(rank, state, std::max(ready, state.runner));
        state.program = on_processor(rank, state.program, work);
        state.runner = state.program;
        return state.program;
    }
    Time begin = std::max(ready, state.runner);
    if (runner == Runner::thread) {
        // It sleeps while there is nothing to do.
        if (ready > state.runner) begin += engine_costs_.wake_up;
        state.runner = noisy_ ? thread_processors_[static_cast<std::size_t>(rank)].finish(noise_, begin, work)
                              : begin + work;
    } else {
        state.runner = begin + work;
    }
    if (state.pieces > 0 && engine_costs_.taken > 0) {
        const Time left = last_piece_ + (state.pieces - 1) * piece_ + state.taken;
        if (begin < state.program + left) {
            state.taken += std::llround(engine_costs_.taken * static_cast<double>(work));
        }
    }
    return state.runner;
}

Time Ranks::send_by_loggopsim(int rank, State& state, const Cost& cost) {
    const Time begin = std::max(state.program, state.interface.free);
    state.program = on_processor(rank, begin, cost.processor);
    state.interface.free = begin + parameters_.gap + cost.wire;
    return state.program;
}

void Ranks::receive_by_loggopsim(int rank, State& state, Time arrival, const Cost& cost) {
    // `runner` is the receiving interface here.
    const Time begin = std::max({state.program, arrival, state.runner});
    const Time work = parameters_.overhead + std::max(cost.processor - parameters_.overhead, cost.wire);
    state.program = on_processor(rank, begin, work);
    state.runner = begin + parameters_.gap + cost.wire;
}

void Ranks::consume(std::uint32_t slot) {
    ++received_;
    Time& place = arrivals_[slot];
    place = none;
    if (early_.empty()) return;
    const auto found = early_.find(slot);
    if (found == early_.end()) return;
    place = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) early_.erase(found);
}

}  // namespace lapwing::simulate
