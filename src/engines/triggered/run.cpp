#include "engines/triggered/run.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "engines/local_work.hpp"

namespace lapwing::triggered {
namespace {

constexpr std::byte empty_message{};

}  // namespace

TriggeredRun::~TriggeredRun() {
    if (state == State::launched) network_.stop();
}

void TriggeredRun::launch(std::vector<Work> works, bool has_entries) {
    state = State::launched;
    stage_ = 0;
    reduced_.resize(schedule->reduced_bytes);
    if (has_entries) {
        for (const Work& work : works) queue(work);
    } else {
        by_hand = std::move(works);
        do_by_hand();
    }
}

void TriggeredRun::queue(const Work& work) {
    DeferredWork::Counter& trigger = counter(work.trigger.counter);
    const std::uint64_t at_value = threshold(work.trigger);
    if (work.kind == Work::Kind::add) {
        queued.push_back(
            network_.add(trigger, at_value, *gates[static_cast<std::size_t>(work.gate)].counter));
        return;
    }
    const Write& write = schedule->writes[work.write];
    const DeferredWork::Target target = channel->target(write, uses.at(write.peer).slot_out);
    const std::byte* const source = write.bytes == 0 ? &empty_message : at(write.source);
    queued.push_back(network_.write(trigger, at_value, source, std::max<std::uint64_t>(write.bytes, 1),
                                    target, *done.counter));
}

void TriggeredRun::do_by_hand() {
    std::set<std::int32_t> held;  // peers whose writes must not overtake
    std::vector<Work> left;
    for (const Work& work : by_hand) {
        const bool writes = work.kind == Work::Kind::write;
        const std::int32_t peer = writes ? schedule->writes[work.write].peer : -1;
        if (!has_happened(work.trigger) || (writes && (held.contains(peer) || !network_.reserve(1, false)))) {
            if (writes) held.insert(peer);
            left.push_back(work);
        } else if (writes) {
            ++entries;
            Work now = work;
            now.trigger = {};
            queue(now);
        } else {
            gates[static_cast<std::size_t>(work.gate)].counter->add(1);
        }
    }
    by_hand = std::move(left);
}

void TriggeredRun::do_stages() {
    for (; stage_ < schedule->stages.size(); ++stage_) {
        const Stage& stage = schedule->stages[stage_];
        for (const Arrival& arrival : stage.arrivals)
            if (!has_happened({{Counter::Kind::landed, arrival.peer}, arrival.messages})) return;
        for (const Reduction& reduction : stage.reductions) reduce(reduction);
        if (stages.counter != nullptr) stages.counter->add(1);
    }
}

void TriggeredRun::reduce(const Reduction& reduction) {
    std::byte* const result = reduced_.data() + reduction.result;
    copy(reduction.target, result);
    const std::byte* source = at(reduction.source.front().place);
    if (reduction.source.size() > 1) {
        joined_.resize(reduction.bytes);
        copy(reduction.source, joined_.data());
        source = joined_.data();
    }
    lapwing::reduce(buffers, reduction.op, reduction.type, result, source, reduction.bytes);
}

void TriggeredRun::copy(const std::vector<Piece>& pieces, std::byte* target) {
    for (const Piece& piece : pieces) {
        std::memcpy(target, at(piece.place), piece.bytes);
        target += piece.bytes;
    }
}

bool TriggeredRun::has_ended() {
    if (!by_hand.empty() || stage_ < schedule->stages.size()) return false;
    for (const auto& [peer, use] : uses) {
        if (use.receives && channel->read({Counter::Kind::landed, peer, use.slot_in}) < use.landed_after)
            return false;
    }
    return done.counter->read() >= done.value + schedule->writes.size();
}

void TriggeredRun::finish() {
    // What moves inside out is read before anything is written there.
    std::vector<std::byte> from_out;
    for (const Move& move : schedule->moves) {
        if (move.source.memory != Location::Memory::out) continue;
        const std::byte* const from = at(move.source);
        from_out.insert(from_out.end(), from, from + move.bytes);
    }
    const std::byte* next = from_out.data();
    for (const Move& move : schedule->moves) {
        const bool inside = move.source.memory == Location::Memory::out;
        std::memcpy(buffers.out + move.target, inside ? next : at(move.source), move.bytes);
        if (inside) next += move.bytes;
    }
}

DeferredWork::Counter& TriggeredRun::counter(const Counter& counter) {
    switch (counter.kind) {
        case Counter::Kind::none:
            break;
        case Counter::Kind::gate:
            return *gates[static_cast<std::size_t>(counter.which)].counter;
        case Counter::Kind::stage:
            return *stages.counter;
        case Counter::Kind::landed:
            return channel->counter({counter.kind, counter.which, uses.at(counter.which).slot_in});
        case Counter::Kind::credit:
            return channel->counter({counter.kind, counter.which, uses.at(counter.which).slot_out});
    }
    return at_once_;
}

std::uint64_t TriggeredRun::threshold(const Trigger& trigger) const {
    if (trigger.counter.kind == Counter::Kind::gate)
        return gates[static_cast<std::size_t>(trigger.counter.which)].value + trigger.threshold;
    if (trigger.counter.kind == Counter::Kind::stage) return stages.value + trigger.threshold;
    return Ledger::threshold(uses, trigger);
}

const std::byte* TriggeredRun::at(const Location& place) const {
    switch (place.memory) {
        case Location::Memory::in:
            return buffers.in + place.offset;
        case Location::Memory::out:
            return buffers.out + place.offset;
        case Location::Memory::reduced:
            return reduced_.data() + place.offset;
        case Location::Memory::slot:
            break;
    }
    return channel->slot(place.peer, uses.at(place.peer).slot_in) + place.offset;
}

}  // namespace lapwing::triggered
