#include "simulate/ranks.hpp"

#include <fmt/format.h>

#include <map>

#include "base/error.hpp"
#include "base/short_message.hpp"

namespace lapwing::simulate {
namespace {

// Apart from those of the programs' processors.
constexpr std::uint64_t first_thread_processor = std::uint64_t{1} << 31;

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
      messages_(setting.engine.messages),
      states_(static_cast<std::size_t>(ranks)),
      flights_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(requests_)) {
    for (State& state : states_) state.interface.free = setting.drained ? 0 : -burst_;
    std::map<const Lists*, std::uint32_t> first_costs;
    std::map<std::pair<int, int>, std::int32_t> channels;  // of operations and requests
    std::uint64_t slots = 0;
    for (const Action& action : actions_) {
        Pieces pieces;
        if (action.kind == Action::Kind::compute) {
            pieces.count = action.work > 0 || action.tests > 0 ? action.tests + 1 : 0;
            pieces.each = action.work / (action.tests + 1);
            pieces.last = action.work - pieces.each * action.tests;
        }
        if (action.kind == Action::Kind::start) {
            const Operation& operation = operations[static_cast<std::size_t>(action.operation)];
            const Lists& lists = *operation.lists;
            const auto [found, fresh] =
                channels.try_emplace({action.operation, action.request}, static_cast<int>(channels_.size()));
            pieces.channel = found->second;
            if (fresh) {
                const auto [costs, new_costs] =
                    first_costs.try_emplace(&lists, static_cast<std::uint32_t>(costs_.size()));
                if (new_costs) {
                    const std::vector<Cost> more = costs_of(lists, parameters_);
                    costs_.insert(costs_.end(), more.begin(), more.end());
                }
                channels_.push_back({.lists = &lists,
                                     .operation = action.operation,
                                     .stride = operation.stride,
                                     .rotation = operation.rotation,
                                     .first_slot = static_cast<std::uint32_t>(slots),
                                     .first_cost = costs->second,
                                     .local = lists.max_bytes_of_a_rank > max_short_bytes
                                                  ? setting.engine.long_local
                                                  : setting.engine.local});
                slots += lists.messages() * static_cast<std::uint64_t>(ranks / lists.ranks);
                if (slots >= UINT32_MAX) {
                    throw Error(ErrorCode::unsupported,
                                fmt::format("{} messages are more than can be simulated", slots));
                }
            }
        }
        pieces_.push_back(pieces);
    }
    arrivals_.assign(slots, none);
    if (!noisy_) return;
    const bool threads = messages_ == Runner::thread ||
                         std::any_of(channels_.begin(), channels_.end(),
                                     [](const Channel& one) { return one.local == Runner::thread; });
    for (int rank = 0; rank < ranks; ++rank) {
        const auto number = static_cast<std::uint64_t>(rank);
        processors_.emplace_back(noise_, number);
        if (threads) thread_processors_.emplace_back(noise_, first_thread_processor + number);
    }
}

void Ranks::refuse_late() {
    throw Error(ErrorCode::unsupported, "the simulated time is longer than 26 days");
}

// To the next start or wait, or into the next work that this rank has.
void Ranks::next_action(int rank, State& state) {
    while (++state.action < static_cast<std::int32_t>(actions_.size())) {
        const auto index = static_cast<std::size_t>(state.action);
        if (actions_[index].kind != Action::Kind::compute) return;
        if (actions_[index].ranks.has(rank, ranks_)) state.pieces = pieces_[index].count;
        if (state.pieces > 0) return;
    }
}

void Ranks::start(int rank, State& state, const Action& action) {
    Flight& flight = flight_of(rank, action.request);
    flight.channel = pieces_[static_cast<std::size_t>(state.action)].channel;
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
    state.fresh = timed_;
    state.call = state.program;
    state.in_call = true;
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
    const Pieces& pieces = pieces_[static_cast<std::size_t>(state.action)];
    const Time piece = --state.pieces == 0 ? pieces.last : pieces.each;
    state.program = on_processor(rank, state.program, piece + state.taken);
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
    // The wait.
    state.program = std::max(state.program, until);
}

// A start or a test deals with what is there when it begins, a wait with everything.
Time Ranks::attend(int rank, int request, Time ready) {
    State& state = state_of(rank);
    if (messages_ == Runner::calls && state.pieces > 0 && ready > state.call) {
        work_until(rank, state, std::max(ready, state.program + 1));
    }
    return perform(rank, state, flight_of(rank, request), messages_, ready, parameters_.overhead);
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
        const Pieces& pieces = pieces_[static_cast<std::size_t>(state.action)];
        if (begin < state.program + pieces.last + (state.pieces - 1) * pieces.each + state.taken) {
            state.taken += share;
            return;
        }
        for (const std::int32_t action = state.action; state.action == action && state.pieces > 0;) {
            work_piece(rank, state);
        }
    }
}

Time Ranks::send_by_loggopsim(int rank, State& state, const Cost& cost) {
    const Time begin = std::max(state.program, state.interface.free);
    state.program = on_processor(rank, begin, cost.processor);
    state.interface.free = begin + parameters_.gap + cost.wire;
    return state.program;
}

void Ranks::receive_by_loggopsim(int rank, State& state, Flight& flight, Time arrival, const Cost& cost) {
    // `runner` is the receiving interface here.
    const Time begin = std::max({state.program, arrival, flight.runner});
    const Time work = parameters_.overhead + std::max(cost.processor - parameters_.overhead, cost.wire);
    state.program = on_processor(rank, begin, work);
    flight.runner = begin + parameters_.gap + cost.wire;
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
