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

[[noreturn]] void refuse(int rank, const std::string& why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the program: rank {} {}", rank, why));
}

}  // namespace

Ranks::Ranks(int ranks, std::span<const Operation> operations, const Setting& setting, bool timed)
    : ranks_(ranks),
      parameters_(setting.parameters),
      actions_(setting.program.scripts == nullptr ? setting.program.steps() : std::vector<Action>{}),
      iterations_(setting.program.scripts == nullptr ? setting.program.iterations : 1),
      lateness_(setting.program.lateness),
      engine_costs_(setting.costs),
      noise_(setting.noise),
      network_(setting.network),
      noisy_(setting.noise.kind != Noise::Kind::none),
      slice_(setting.cores.slice),
      burst_(std::llround(static_cast<double>(setting.parameters.burst_bytes) * setting.parameters.per_byte)),
      requests_(check(actions_, static_cast<int>(operations.size()))),
      timed_(timed),
      scripts_(setting.program.scripts),
      states_(static_cast<std::size_t>(ranks)) {
    for (State& state : states_) state.interface.free = setting.drained ? 0 : -burst_;
    if (scripts_ != nullptr) {
        share_cores(setting.cores);
        add_channels_of_scripts(operations, setting);
        count_requests();
        accounts_.resize(static_cast<std::size_t>(ranks));
        sites_.resize(static_cast<std::size_t>(scripts_->sites));
    } else {
        flights_.resize(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(requests_));
        add_channels(operations, setting);
    }
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
std::uint32_t Ranks::add_costs(const Lists& lists, const Parameters& parameters, Runner messages,
                               bool synchronous) {
    const auto first = static_cast<std::uint32_t>(costs_.size());
    const std::vector<Cost> costs = costs_of(lists, parameters);
    for (std::size_t i = 0; i < costs.size(); ++i) {
        Cost cost = costs[i];
        if (messages == Runner::offload) cost.windows = 0;
        if (synchronous && cost.windows == 0) use_rendezvous(cost, lists.lengths[i], parameters);
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
        if (new_costs) costs->second = add_costs(lists, parameters_, setting.engine.messages, false);
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

void Ranks::add_channels_of_scripts(std::span<const Operation> operations, const Setting& setting) {
    std::map<std::tuple<const Lists*, bool, bool>, std::uint32_t> first_costs;
    for (const Operation& operation : operations) {
        const Lists& lists = *operation.lists;
        const Engine& engine = operation.native ? native_mpi() : setting.engine;
        const Parameters& parameters = operation.native ? setting.native : setting.parameters;
        const auto [costs, fresh] =
            first_costs.try_emplace({&lists, operation.native, operation.synchronous}, 0);
        if (fresh) costs->second = add_costs(lists, parameters, engine.messages, operation.synchronous);
        channels_.push_back(
            {.lists = &lists,
             .first_cost = costs->second,
             .overhead = parameters.overhead,
             .messages = engine.messages,
             .local = local_runner(lists, engine),
             .of_scripts = true,
             .communicator = operation.communicator < 0
                                 ? nullptr
                                 : &scripts_->communicators[static_cast<std::size_t>(operation.communicator)],
             .communicator_index = operation.communicator});
    }
}

void Ranks::count_requests() {
    std::size_t flights = 0;
    flights_before_.push_back(0);
    for (const std::vector<Action>& actions : scripts_->of_ranks) {
        int requests = 0;
        for (const Action& action : actions) requests = std::max(requests, action.request + 1);
        flights += static_cast<std::size_t>(requests);
        flights_before_.push_back(flights);
    }
    flights_.resize(flights);
}

void Ranks::refuse_late() {
    throw Error(ErrorCode::unsupported, "the simulated time is longer than 26 days");
}

// To the next start, call or wait, or into the next work that this rank has.
void Ranks::next_action(int rank, State& state) {
    const std::span<const Action> actions = actions_of(rank);
    while (++state.action < static_cast<std::int32_t>(actions.size())) {
        const Action& action = actions[static_cast<std::size_t>(state.action)];
        if (action.kind == Action::Kind::repeat) {
            accounts_[static_cast<std::size_t>(rank)].loops.push_back({state.action, action.times});
            continue;
        }
        if (action.kind == Action::Kind::end) {
            std::vector<Account::Loop>& loops = accounts_[static_cast<std::size_t>(rank)].loops;
            if (--loops.back().left > 0) {
                state.action = loops.back().first;
            } else {
                loops.pop_back();
            }
            continue;
        }
        if (action.kind != Action::Kind::compute) return;
        if (action.ranks.has(rank, ranks_) && (action.work > 0 || action.tests > 0)) {
            state.pieces = action.tests + 1;
            return;
        }
    }
}

void Ranks::enter(int rank, const State& state, std::int32_t site) {
    Account& account = accounts_[static_cast<std::size_t>(rank)];
    const Time computed = account.computing - account.counted;
    sites_[static_cast<std::size_t>(account.site)] += state.program - account.until - computed;
    account.until = state.program;
    account.counted = account.computing;
    account.site = site;
}

std::vector<Time> Ranks::computing() const {
    std::vector<Time> found;
    for (const Account& account : accounts_) found.push_back(account.computing);
    return found;
}

// Starts a collective or a message. Any other call gives the engine the processor.
void Ranks::start(int rank, State& state, const Action& action) {
    if (scripts_ != nullptr) enter(rank, state, action.site);
    state.fresh = timed_;
    state.call = state.program;
    state.in_call = true;
    if (action.kind == Action::Kind::call) {
        state.program = on_processor(rank, state.program, action.work + engine_costs_.test);
        next_action(rank, state);
        return;
    }
    Flight& flight = flight_of(rank, action.request);
    flight.channel =
        scripts_ != nullptr ? action.operation : channel_of_action_[static_cast<std::size_t>(state.action)];
    if (scripts_ != nullptr) {
        meet(rank, flight, action);
    } else {
        const Channel& channel = channels_[static_cast<std::size_t>(flight.channel)];
        const Lists& lists = *channel.lists;
        const int place = rank / channel.stride % lists.ranks;
        const int group = rank / (channel.stride * lists.ranks) * channel.stride + rank % channel.stride;
        const auto member = static_cast<std::size_t>((place - channel.rotation + lists.ranks) % lists.ranks);
        flight.first_rank = rank - place * channel.stride;
        flight.first_slot = channel.first_slot +
                            static_cast<std::uint32_t>(group) * static_cast<std::uint32_t>(lists.messages());
        flight.step = lists.first_step[member];
        flight.end = lists.first_step[member + 1];
    }
    flight.runner = std::max(flight.runner, state.program);
    ++flight.number;
    flight.active = true;
    flight.complete = false;
    ++state.open;
    next_action(rank, state);
    if (flight.step == flight.end) complete(state, flight);
}

// A receive has its sender's length: all messages have lists of the same steps.
void Ranks::meet(int rank, Flight& flight, const Action& action) {
    if (flight.active)
        refuse(rank, fmt::format("starts request {} again before it waits for it", action.request));
    int member = action.kind == Action::Kind::receive ? 1 : 0;
    const Channel* channel = &channels_[static_cast<std::size_t>(flight.channel)];
    if (channel->communicator != nullptr) {
        member = channel->communicator->member(rank);
        if (member < 0) refuse(rank, "calls a collective on a communicator of other ranks");
        flight.meeting =
            meetings_.join(channel->communicator_index, rank, member, channel->communicator->size(),
                           static_cast<std::uint32_t>(channel->lists->messages()), action.request);
    } else if (member == 0) {
        if (action.peer < 0 || action.peer >= ranks_)
            refuse(rank, fmt::format("sends to rank {}", action.peer));
        flight.first_rank = action.peer;
        flight.meeting =
            meetings_.send({rank, action.peer, action.context, action.tag}, action.request, action.operation);
        const int posted = meetings_.request(flight.meeting, 1);
        if (posted >= 0) {
            Flight& receiver = flight_of(action.peer, posted);
            receiver.first_rank = rank;
            receiver.channel = flight.channel;
        }
    } else {
        flight.meeting = meetings_.receive({action.peer, rank, action.context, action.tag}, action.request);
        if (meetings_.request(flight.meeting, 0) >= 0) {
            flight.first_rank = meetings_.sender(flight.meeting);
            flight.channel = meetings_.operation(flight.meeting);
            channel = &channels_[static_cast<std::size_t>(flight.channel)];
        }
    }
    flight.first_slot = meetings_.first_slot(flight.meeting);
    if (meetings_.slots() > arrivals_.size()) arrivals_.resize(2 * std::size_t{meetings_.slots()}, none);
    flight.step = channel->lists->first_step[static_cast<std::size_t>(member)];
    flight.end = channel->lists->first_step[static_cast<std::size_t>(member) + 1];
}

void Ranks::complete(State& state, Flight& flight) {
    if (flight.handshakes > 0 || flight.complete) return;
    flight.complete = true;
    state.busy = std::max(state.busy, flight.runner);
    --state.open;
    if (flight.meeting >= 0) meetings_.leave(flight.meeting);
}

void Ranks::share_cores(const SharedCores& shared) {
    for (const SharedCores::Group& group : shared.groups) {
        if (group.ranks.size() <= static_cast<std::size_t>(group.cores)) continue;
        core_group_of_.resize(states_.size(), -1);
        for (const int rank : group.ranks)
            core_group_of_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(core_free_.size());
        core_free_.emplace_back(static_cast<std::size_t>(group.cores));
    }
}

bool Ranks::hand_over(int rank, int request) {
    Flight& flight = flight_of(rank, request);
    if (--flight.handshakes > 0 || flight.step != flight.end) return false;
    complete(state_of(rank), flight);
    return true;
}

bool Ranks::waits(int rank) const {
    const State& state = states_[static_cast<std::size_t>(rank)];
    const std::span<const Action> actions = actions_of(rank);
    if (state.pieces > 0 || state.action < 0 || state.action >= static_cast<std::int32_t>(actions.size()))
        return false;
    const Action& action = actions[static_cast<std::size_t>(state.action)];
    return action.kind == Action::Kind::wait && !flight_of(rank, action.request).complete;
}

bool Ranks::takes_in(int sender, const SentMessage& message) const {
    if (scripts_ == nullptr) return true;
    const Flight& flight = flight_of(sender, message.request);
    return channels_[static_cast<std::size_t>(flight.channel)].messages != Runner::calls ||
           waits(message.peer);
}

Time Ranks::gather() {
    Time last = 0;
    for (const State& state : states_) last = std::max(last, state.program);
    for (State& state : states_) state.program = last;
    return last;
}

void Ranks::work_piece(int rank, State& state) {
    // A test of collectives that are complete takes no time.
    if (state.worked == 0 && state.idle_test && (state.open > 0 || state.program < state.busy)) {
        state.program = on_processor(rank, state.program, engine_costs_.test);
    }
    const Action& action = actions_of(rank)[static_cast<std::size_t>(state.action)];
    const Time piece = state.pieces == 1 ? last_piece_of(action) : piece_of(action);
    const Time left = piece + state.taken - state.worked;
    const bool goes_on = shares_core(rank) && left > slice_;  // in a later turn
    const Time end = on_processor(rank, state.program, goes_on ? slice_ : left, true);
    if (scripts_ != nullptr) accounts_[static_cast<std::size_t>(rank)].computing += end - state.program;
    state.program = end;
    if (goes_on) {
        state.worked += slice_;
        state.in_call = false;
        return;
    }
    --state.pieces;
    state.worked = 0;
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
    // The wait.
    if (scripts_ != nullptr) {
        const std::span<const Action> actions = actions_of(rank);
        if (state.action < static_cast<std::int32_t>(actions.size())) {
            enter(rank, state, actions[static_cast<std::size_t>(state.action)].site);
        }
    }
    state.program = until;
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
        const Action& work_of = actions_of(rank)[static_cast<std::size_t>(state.action)];
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
