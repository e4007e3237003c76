#include "simulate/ranks.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

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

Ranks::Ranks(int ranks, std::span<const Operation> operations, const Setting& setting, bool timed)
    : ranks_(ranks),
      parameters_(setting.parameters),
      actions_(setting.program.steps()),
      iterations_(setting.program.iterations),
      lateness_(setting.program.lateness),
      engine_costs_(setting.costs),
      noise_(setting.noise),
      network_(setting.network),
      noisy_(setting.noise.kind != Noise::Kind::none),
      burst_(std::llround(static_cast<double>(setting.parameters.burst_bytes) * setting.parameters.per_byte)),
      requests_(check(actions_, static_cast<int>(operations.size()))),
      timed_(timed),
      states_(static_cast<std::size_t>(ranks)) {
    for (State& state : states_) state.interface.free = setting.drained ? 0 : -burst_;
    flights_.resize(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(requests_));
    add_channels(operations, setting);
    for (const Channel& one : channels_) {
        threads_ = threads_ || one.messages == Runner::thread || one.local == Runner::thread;
    }
    if (!noisy_) return;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto number = static_cast<std::uint64_t>(rank);
        processors_.emplace_back(noise_, number);
        if (threads_) thread_processors_.emplace_back(noise_, first_thread_processor + number);
    }
}

// Returns the index of the first one.
std::uint32_t Ranks::add_costs(const Lists& lists, Runner messages) {
    const auto first = static_cast<std::uint32_t>(costs_.size());
    for (Cost cost : costs_of(lists, parameters_)) {
        if (messages == Runner::offload) cost.windows = 0;
        costs_.push_back(cost);
    }
    return first;
}

// An operation started with a request has a channel of its own.
void Ranks::add_channels(std::span<const Operation> operations, const Setting& setting) {
    std::map<const Lists*, std::uint32_t> first_costs;
    std::map<std::pair<int, int>, std::int32_t> channels;  // of operations and requests
    std::uint64_t slots = 0;
    for (const Action& action : actions_) {
        std::int32_t& channel = channel_of_action_.emplace_back(-1);
        if (action.kind != Action::Kind::start) continue;
        const Operation& operation = operations[static_cast<std::size_t>(action.operation)];
        const Lists& lists = *operation.lists;
        const auto [found, fresh] =
            channels.try_emplace({action.operation, action.request}, static_cast<int>(channels_.size()));
        channel = found->second;
        if (!fresh) continue;
        const auto [costs, new_costs] = first_costs.try_emplace(&lists, 0);
        if (new_costs) costs->second = add_costs(lists, setting.engine.messages);
        channels_.push_back({.lists = &lists,
                             .operation = action.operation,
                             .stride = operation.stride,
                             .rotation = operation.rotation,
                             .first_slot = static_cast<std::uint32_t>(slots),
                             .first_cost = costs->second,
                             .overhead = parameters_.overhead,
                             .messages = setting.engine.messages,
                             .local = local_runner(lists, setting.engine)});
        slots += lists.messages() * static_cast<std::uint64_t>(ranks_ / lists.ranks);
        if (slots >= UINT32_MAX) {
            throw Error(ErrorCode::unsupported, fmt::format("cannot simulate {} messages", slots));
        }
    }
    arrivals_.assign(slots, none);
}

void Ranks::refuse_late() {
    throw Error(ErrorCode::unsupported, "the simulated time is longer than 26 days");
}

// To the next start, call or wait, or into the next work that this rank has.
void Ranks::next_action(int rank, State& state) {
    while (++state.action < static_cast<std::int32_t>(actions_.size())) {
        const Action& action = actions_[static_cast<std::size_t>(state.action)];
        if (action.kind != Action::Kind::compute) return;
        if (action.ranks.has(rank, ranks_) && (action.work > 0 || action.tests > 0)) {
            state.pieces = action.tests + 1;
            return;
        }
    }
}

void Ranks::start(int rank, State& state, const Action& action) {
    state.fresh = timed_;
    state.call = state.program;
    state.in_call = true;
    Flight& flight = flight_of(rank, action.request);
    flight.channel = channel_of_action_[static_cast<std::size_t>(state.action)];
    const Channel& channel = channels_[static_cast<std::size_t>(flight.channel)];
    const Lists& lists = *channel.lists;
    const int place = rank / channel.stride % lists.ranks;
    const int group = rank / (channel.stride * lists.ranks) * channel.stride + rank % channel.stride;
    const auto member = static_cast<std::size_t>((place - channel.rotation + lists.ranks) % lists.ranks);
    flight.first_rank = rank - place * channel.stride;
    flight.first_slot =
        channel.first_slot + static_cast<std::uint32_t>(group) * static_cast<std::uint32_t>(lists.messages());
    flight.step = lists.first_step[member];
    flight.end = lists.first_step[member + 1];
    flight.runner = std::max(flight.runner, state.program);
    ++flight.number;
    flight.active = true;
    flight.complete = false;
    ++state.open;
    next_action(rank, state);
    if (flight.step == flight.end) complete(state, flight);
}

void Ranks::complete(State& state, Flight& flight) {
    if (flight.handshakes > 0 || flight.complete) return;
    flight.complete = true;
    state.busy = std::max(state.busy, flight.runner);
    --state.open;
}

bool Ranks::hand_over(int rank, int request) {
    Flight& flight = flight_of(rank, request);
    if (--flight.handshakes > 0 || flight.step != flight.end) return false;
    complete(state_of(rank), flight);
    return true;
}

Time Ranks::gather() {
    Time last = 0;
    for (const State& state : states_) last = std::max(last, state.program);
    for (State& state : states_) state.program = last;
    return last;
}

void Ranks::work_piece(int rank, State& state) {
    // A test of collectives that are complete takes no time.
    if (state.idle_test && (state.open > 0 || state.program < state.busy)) {
        state.program = on_processor(rank, state.program, engine_costs_.test);
    }
    const Action& action = actions_[static_cast<std::size_t>(state.action)];
    const Time piece = state.pieces == 1 ? last_piece_of(action) : piece_of(action);
    state.program = on_processor(rank, state.program, piece + state.taken);
    --state.pieces;
    state.taken = 0;
    state.idle_test = state.pieces > 0;
    state.in_call = true;
    if (state.pieces == 0) {
        next_action(rank, state);
        state.in_call = state.pieces == 0;  // not between two pieces of work
    }
    if (state.in_call) state.call = state.program;
}

// Goes on to the first MPI call at or after this time.
void Ranks::work_until(int rank, State& state, Time until) {
    while (state.pieces > 0 && (state.program < until || !state.in_call)) work_piece(rank, state);
    state.idle_test = false;
    if (state.program >= until) return;
    state.program = until;  // the wait
}

// A start or a test deals with what is there when it begins, a wait with everything.
Time Ranks::attend(int rank, int request, Time ready) {
    State& state = state_of(rank);
    Flight& flight = flight_of(rank, request);
    const Channel& channel = channels_[static_cast<std::size_t>(flight.channel)];
    if (channel.messages == Runner::calls && state.pieces > 0 && ready > state.call) {
        work_until(rank, state, std::max(ready, state.program + 1));
    }
    return perform(rank, state, flight, channel.messages, ready, channel.overhead);
}

// A task that cannot run before `ready`, nor before the task that stands before it in the list. Returns when
// it is done.
Time Ranks::perform(int rank, State& state, Flight& flight, Runner runner, Time ready, Time work) {
    if (runner == Runner::calls) {
        work_until(rank, state, std::max(ready, flight.runner));
        state.program = on_processor(rank, state.program, work);
        flight.runner = state.program;
        return flight.runner;
    }
    Time begin = std::max(ready, flight.runner);
    if (runner == Runner::thread) {
        // It sleeps while there is nothing to do.
        if (ready > std::max(flight.runner, state.thread)) begin += engine_costs_.wake_up;
        begin = std::max(begin, state.thread);
        state.thread = noisy_ ? thread_processors_[static_cast<std::size_t>(rank)].finish(noise_, begin, work)
                              : begin + work;
        flight.runner = state.thread;
    } else {
        flight.runner = begin + work;
    }
    if (engine_costs_.taken > 0) take(rank, state, begin, work);
    return flight.runner;
}

// From the program, where it works then.
void Ranks::take(int rank, State& state, Time begin, Time work) {
    const auto share = static_cast<Time>(std::llround(engine_costs_.taken * static_cast<double>(work)));
    // Timed, the clock stands at the end of a piece.
    if (timed_) {
        if (begin < state.program) state.program = on_processor(rank, state.program, share);
        return;
    }
    while (state.pieces > 0) {
        const Action& work_of = actions_[static_cast<std::size_t>(state.action)];
        if (begin <
            state.program + last_piece_of(work_of) + (state.pieces - 1) * piece_of(work_of) + state.taken) {
            state.taken += share;
            return;
        }
        for (const std::int32_t action = state.action; state.action == action && state.pieces > 0;) {
            work_piece(rank, state);
        }
    }
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
