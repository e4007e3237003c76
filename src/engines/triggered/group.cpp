#include "engines/triggered/group.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace lapwing::triggered {
namespace {

constexpr auto longest_farewell = std::chrono::milliseconds(200);
constexpr std::byte nothing{};  // what a message of no bytes is made of

// The slots' counters of one lane.
class LaneCounters final : public SlotCounters {
  public:
    LaneCounters(Pairs& pairs, Lane lane) : pairs_(pairs), lane_(lane) {}
    std::uint64_t read(const SlotCounter& counter) override { return find(counter).read(); }
    void set_to_zero(const SlotCounter& counter) override { find(counter).set(0); }

  private:
    DeferredWork::Counter& find(const SlotCounter& counter) {
        Pair::Slot& slot = pairs_.find(lane_, counter.peer).slot(counter.slot);
        return counter.kind == Counter::Kind::credit ? *slot.credit : *slot.landed;
    }
    Pairs& pairs_;
    const Lane lane_;
};

}  // namespace

struct Group::LaneState {
    LaneState(Pairs& pairs, Lane number, std::uint64_t limit) : ledger(limit), counters(pairs, number) {}
    Ledger ledger;
    LaneCounters counters;
    std::deque<Run*> waiting;  // for the pairs that they use
    std::vector<Run*> in_flight;
};

Group::Group(const EngineContext& context)
    : network_(*context.deferred_work),
      messages_(*context.messages),
      limit_(network_.most_counted() / 2),
      pairs_(network_, messages_, context.options.trigger_bytes),
      at_once_(network_.make_counter()),
      paid_counter_{network_.make_counter()} {}

Group::~Group() {
    // Credits are on their way when the last run ends here. What does not leave in time, because its peer has
    // ended, stays in place: libfabric may still look at it.
    const auto end = std::chrono::steady_clock::now() + longest_farewell;
    while (!paid_.empty() && broken_.empty() && std::chrono::steady_clock::now() < end) {
        take_back_credits();
        std::this_thread::yield();
    }
    network_.give_back(paid_.size());
    for (auto& work : paid_) static_cast<void>(work.release());
}

Group::LaneState& Group::lane(Lane number) {
    auto& state = lanes_[number];
    if (state == nullptr) state = std::make_unique<LaneState>(pairs_, number, limit_);
    return *state;
}

void Group::start(Run& run) {
    for (const Exchange& exchange : run.schedule->exchanges) pairs_.find(run.lane, exchange.peer);
    lane(run.lane).waiting.push_back(&run);
    if (broken_.empty()) advance();
}

bool Group::test(Run& run) {
    if (run.complete) return true;
    if (!broken_.empty()) throw Error(ErrorCode::link, broken_);
    try {
        advance();
        if (!run.complete) messages_.progress();
    } catch (const Error& error) {
        broken_ = error.what();
        throw;
    }
    return run.complete;
}

void Group::advance() {
    pairs_.progress();
    for (auto& [number, state] : lanes_) {
        while (!state->waiting.empty() && can_launch(*state->waiting.front())) {
            Run& run = *state->waiting.front();
            state->waiting.pop_front();
            launch(*state, run);
        }
        for (std::size_t i = 0; i < state->in_flight.size();) {
            Run& run = *state->in_flight[i];
            if (!run.by_hand.empty()) do_by_hand(run);
            if (has_ended(run))
                end(*state, run);  // takes it away
            else
                ++i;
        }
    }
    pay_credits();
}

bool Group::can_launch(const Run& run) {
    return std::all_of(run.schedule->exchanges.begin(), run.schedule->exchanges.end(),
                       [&](const Exchange& one) { return pairs_.find(run.lane, one.peer).ready(); });
}

void Group::launch(LaneState& lane, Run& run) {
    run.uses = lane.ledger.begin(*run.schedule, lane.counters);
    std::vector<Work> all = works(*run.schedule, [&](std::int32_t peer) { return !run.uses.at(peer).ready; });
    for (std::uint64_t i = gates_of(all); i > 0; --i) run.gates.push_back(take_counter());
    run.done = take_counter();
    lane.in_flight.push_back(&run);
    std::uint64_t entries = 0;
    for (const Work& work : all) entries += entries_of(work);
    if (network_.reserve(entries, true)) {
        run.entries = entries;
        for (const Work& work : all) queue(run, work);
    } else {
        run.by_hand = std::move(all);
        do_by_hand(run);
    }
}

void Group::queue(Run& run, const Work& work) {
    DeferredWork::Counter& trigger = counter(run, work.trigger.counter);
    const std::uint64_t at_value = threshold(run, work.trigger);
    if (work.kind == Work::Kind::add) {
        run.queued.push_back(
            network_.add(trigger, at_value, *run.gates[static_cast<std::size_t>(work.gate)].counter));
        return;
    }
    const Write& write = run.schedule->writes[work.write];
    Pair::Slot& slot = pairs_.find(run.lane, write.peer).slot(run.uses.at(write.peer).slot_out);
    DeferredWork::Target target = write.counts ? slot.to_counted : slot.to_silent;
    target.address += write.bytes == 0 ? pairs_.slot_bytes() : write.target;
    const std::byte* const source = write.bytes == 0 ? &nothing : at(run, write.source);
    run.queued.push_back(network_.write(trigger, at_value, source, std::max<std::uint64_t>(write.bytes, 1),
                                        target, *run.done.counter));
}

// Works that the network has no entries for, as soon as what they wait for has happened.
void Group::do_by_hand(Run& run) {
    std::set<std::int32_t> held;  // peers whose writes must not overtake
    std::vector<Work> left;
    for (const Work& work : run.by_hand) {
        const bool writes = work.kind == Work::Kind::write;
        const std::int32_t peer = writes ? run.schedule->writes[work.write].peer : -1;
        const bool happens = counter(run, work.trigger.counter).read() >= threshold(run, work.trigger);
        if (!happens || (writes && (held.contains(peer) || !network_.reserve(1, false)))) {
            if (writes) held.insert(peer);
            left.push_back(work);
            continue;
        }
        if (writes) {
            ++run.entries;
            Work now = work;
            now.trigger = {};
            queue(run, now);
        } else {
            run.gates[static_cast<std::size_t>(work.gate)].counter->add(1);
        }
    }
    run.by_hand = std::move(left);
}

bool Group::has_ended(Run& run) {
    if (!run.by_hand.empty()) return false;
    for (const auto& [peer, use] : run.uses) {
        if (use.receives && pairs_.find(run.lane, peer).slot(use.slot_in).landed->read() < use.landed_after)
            return false;
    }
    return run.done.counter->read() >= run.done.value + run.schedule->writes.size();
}

void Group::end(LaneState& lane, Run& run) {
    // What goes from one place of the caller's memory to another is read before anything is written there.
    std::vector<std::vector<std::byte>> from_out;
    for (const Move& move : run.schedule->moves) {
        if (move.source.memory != Place::Memory::out) continue;
        const std::byte* const from = at(run, move.source);
        from_out.emplace_back(from, from + move.bytes);
    }
    std::size_t next = 0;
    for (const Move& move : run.schedule->moves) {
        const std::byte* const from =
            move.source.memory == Place::Memory::out ? from_out[next++].data() : at(run, move.source);
        std::memcpy(run.buffers.out + move.target, from, move.bytes);
    }
    lane.ledger.end(run.uses, lane.counters);
    for (const auto& [peer, use] : run.uses)
        if (use.receives) owed_.push_back({run.lane, peer, use.slot_in});
    run.done.value += run.schedule->writes.size();
    give_back(std::move(run.done));
    for (OwnCounter& gate : run.gates) {
        gate.value = gate.counter->read();
        give_back(std::move(gate));
    }
    run.gates.clear();
    network_.give_back(run.entries);
    run.entries = 0;
    over_.push_back(std::move(run.queued));
    run.queued.clear();
    if (over_.size() > 2) over_.pop_front();
    std::erase(lane.in_flight, &run);
    run.complete = true;
}

void Group::pay_credits() {
    while (!owed_.empty() && network_.reserve(1, false)) {
        const Credit credit = owed_.front();
        owed_.pop_front();
        const Pair::Slot& slot = pairs_.find(credit.lane, credit.peer).slot(credit.slot);
        paid_.push_back(network_.write(*at_once_, 0, &nothing, 1, slot.to_credited, *paid_counter_.counter));
    }
    take_back_credits();
}

// What they hold, once all of them have left.
void Group::take_back_credits() {
    if (paid_.empty()) return;
    std::uint64_t over = 0;
    try {
        over = paid_counter_.counter->read() - paid_counter_.value;
    } catch (const Error&) {
        // A peer that has left needs no credit.
        return;
    }
    if (over < paid_.size()) return;
    paid_counter_.value += over;
    network_.give_back(paid_.size());
    over_.push_back(std::move(paid_));
    paid_.clear();
    if (over_.size() > 2) over_.pop_front();
}

DeferredWork::Counter& Group::counter(const Run& run, const Counter& counter) {
    switch (counter.kind) {
        case Counter::Kind::none:
            break;
        case Counter::Kind::gate:
            return *run.gates[static_cast<std::size_t>(counter.which)].counter;
        case Counter::Kind::landed:
            return *pairs_.find(run.lane, counter.which).slot(run.uses.at(counter.which).slot_in).landed;
        case Counter::Kind::credit:
            return *pairs_.find(run.lane, counter.which).slot(run.uses.at(counter.which).slot_out).credit;
    }
    return *at_once_;
}

std::uint64_t Group::threshold(const Run& run, const Trigger& trigger) const {
    if (trigger.counter.kind == Counter::Kind::gate)
        return run.gates[static_cast<std::size_t>(trigger.counter.which)].value + trigger.threshold;
    return Ledger::threshold(run.uses, trigger);
}

const std::byte* Group::at(Run& run, const Place& place) {
    switch (place.memory) {
        case Place::Memory::in:
            return run.buffers.in + place.offset;
        case Place::Memory::out:
            return run.buffers.out + place.offset;
        case Place::Memory::slot:
            break;
    }
    return pairs_.find(run.lane, place.peer).slot(run.uses.at(place.peer).slot_in).memory.get() +
           place.offset;
}

OwnCounter Group::take_counter() {
    if (idle_counters_.empty()) return {network_.make_counter(), 0};
    OwnCounter taken = std::move(idle_counters_.back());
    idle_counters_.pop_back();
    if (taken.value > limit_) {
        taken.counter->set(0);
        taken.value = 0;
    }
    return taken;
}

void Group::give_back(OwnCounter counter) {
    idle_counters_.push_back(std::move(counter));
}

}  // namespace lapwing::triggered
