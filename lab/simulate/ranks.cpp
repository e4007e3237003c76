#include "simulate/ranks.hpp"

#include "base/error.hpp"
#include "base/short_message.hpp"

namespace lapwing::simulate {
namespace {

// Apart from those of the programs' processors.
constexpr std::uint64_t first_thread_processor = std::uint64_t{1} << 31;

Runner local_runner(const Lists& lists, const Engine& engine) {
    return lists.max_bytes_of_a_rank > max_short_bytes ? engine.long_local : engine.local;
}

}  // namespace

Ranks::Ranks(const Lists& lists, const Setting& setting, bool timed)
    : lists_(lists),
      parameters_(setting.parameters),
      program_(setting.program),
      engine_costs_(setting.costs),
      noise_(setting.noise),
      network_(setting.network),
      noisy_(setting.noise.period > 0),
      timed_(timed),
      messages_(setting.engine.messages),
      local_(local_runner(lists, setting.engine)),
      costs_(costs_of(lists, parameters_)),
      states_(static_cast<std::size_t>(lists.ranks)),
      arrivals_(lists.messages(), none) {
    if (messages_ == Runner::offload)
        for (Cost& cost : costs_) cost.windows = 0;
    if (!noisy_) return;
    const bool threads = messages_ == Runner::thread || local_ == Runner::thread;
    for (std::uint64_t number = 0; number < states_.size(); ++number) {
        processors_.emplace_back(noise_, number);
        if (threads) thread_processors_.emplace_back(noise_, first_thread_processor + number);
    }
}

void Ranks::refuse_late() {
    throw Error(ErrorCode::unsupported, "the simulated time is longer than 26 days");
}

void Ranks::start(int rank, State& state) {
    state.fresh = timed_;
    state.call = state.program;
    const auto number = static_cast<std::size_t>(rank);
    state.step = lists_.first_step[number];
    state.end = lists_.first_step[number + 1];
    state.runner = std::max(state.runner, state.program);
    ++state.number;
    state.active = true;
    state.complete = false;
    const bool works = program_.work > 0 || program_.tests > 0;
    state.stage = works ? Stage::work : Stage::wait;
    state.pieces = works ? program_.tests + 1 : 0;
    if (state.step == state.end) complete(state);
}

void Ranks::complete(State& state) {
    if (state.handshakes == 0) state.complete = true;
}

bool Ranks::hand_over(int rank) {
    State& state = state_of(rank);
    if (--state.handshakes > 0 || state.step != state.end) return false;
    complete(state);
    return true;
}

void Ranks::work_piece(int rank, State& state) {
    state.program = on_processor(rank, state.program, state.pieces == 1 ? last_piece() : piece());
    --state.pieces;
    state.call = state.program;
    if (state.pieces == 0) state.stage = Stage::wait;
}

// Goes on to the first MPI call at or after this time.
void Ranks::work_until(int rank, State& state, Time until) {
    while (state.pieces > 0 && state.program < until) work_piece(rank, state);
    if (state.program >= until) return;
    state.program = until;  // the wait
}

// A start or a test deals with what is there when it begins, a wait with everything.
Time Ranks::attend(int rank, Time ready) {
    State& state = state_of(rank);
    if (messages_ == Runner::calls && state.pieces > 0 && ready > state.call)
        work_until(rank, state, std::max(ready, state.program + 1));
    return perform(rank, state, messages_, ready, parameters_.overhead);
}

// A task that cannot run before `ready`, nor before the task that stands before it in the list. Returns when
// it is done.
Time Ranks::perform(int rank, State& state, Runner runner, Time ready, Time work) {
    if (runner == Runner::calls) {
        work_until(rank, state, std::max(ready, state.runner));
        state.program = on_processor(rank, state.program, work);
        state.runner = state.program;
        return state.runner;
    }
    Time begin = std::max(ready, state.runner);
    if (runner == Runner::thread) {
        // It sleeps while there is nothing to do.
        if (ready > std::max(state.runner, state.thread)) begin += engine_costs_.wake_up;
        begin = std::max(begin, state.thread);
        state.thread = noisy_ ? thread_processors_[static_cast<std::size_t>(rank)].finish(noise_, begin, work)
                              : begin + work;
        state.runner = state.thread;
    } else {
        state.runner = begin + work;
    }
    return state.runner;
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
