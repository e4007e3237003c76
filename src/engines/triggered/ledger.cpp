#include "engines/triggered/ledger.hpp"

#include <algorithm>

namespace lapwing::triggered {

Ledger::Pair& Ledger::pair(std::int32_t peer) {
    Pair& pair = pairs_[peer];
    if (pair.in.empty()) {
        pair.in.assign(static_cast<std::size_t>(slots()), {first_, 0});
        pair.out.assign(static_cast<std::size_t>(slots()), {first_, first_});
    }
    return pair;
}

bool Ledger::needs_credit(const Exchange& exchange, const Out& out) const {
    return credits_ == Credits::at_end || exchange.bytes_sent > 0 || out.landed > limit_;
}

std::uint64_t Ledger::next_credit(const Out& out) const {
    return out.credits + (credits_ == Credits::at_begin ? 1 : 0);
}

void Ledger::restart_landing(In& in, const SlotCounter& counter, SlotCounters& counters) const {
    // A later run that has begun here waits for a count already.
    if (in.landed <= limit_ || in.in_flight > 0) return;
    counters.set_to_zero(counter);
    in.landed = 0;
}

bool Ledger::can_begin(const Schedule& schedule) {
    return std::all_of(schedule.exchanges.begin(), schedule.exchanges.end(), [&](const Exchange& exchange) {
        const Pair& known = pair(exchange.peer);
        const In& in = known.in[static_cast<std::size_t>(next_slot(known.in, known.runs_in))];
        return exchange.messages_received == 0 || in.landed <= limit_ || in.in_flight == 0;
    });
}

Uses Ledger::begin(const Schedule& schedule, SlotCounters& counters) {
    Uses uses;
    for (const Exchange& exchange : schedule.exchanges) {
        Use& use = uses[exchange.peer];
        if (exchange.messages_received == 0) continue;
        Pair& known = pair(exchange.peer);
        use.receives = true;
        use.slot_in = next_slot(known.in, known.runs_in++);
        In& in = known.in[static_cast<std::size_t>(use.slot_in)];
        use.gives_credit = credits_ == Credits::at_end || exchange.bytes_received > 0 || in.landed > limit_;
        if (credits_ == Credits::at_begin)
            restart_landing(in, {Counter::Kind::landed, exchange.peer, use.slot_in}, counters);
        use.landed_before = in.landed;
        in.landed += exchange.messages_received;
        use.landed_after = in.landed;
        ++in.in_flight;
    }
    return uses;
}

bool Ledger::can_send(const Schedule& schedule, SlotCounters& counters) {
    return std::all_of(schedule.exchanges.begin(), schedule.exchanges.end(), [&](const Exchange& exchange) {
        if (exchange.messages_sent == 0) return true;
        const Pair& known = pair(exchange.peer);
        const int slot = next_slot(known.out, known.runs_out);
        const Out& out = known.out[static_cast<std::size_t>(slot)];
        const std::uint64_t credit = next_credit(out);
        return credit <= limit_ || !needs_credit(exchange, out) ||
               counters.read({Counter::Kind::credit, exchange.peer, slot}) >= credit;
    });
}

void Ledger::send(const Schedule& schedule, Uses& uses, SlotCounters& counters) {
    for (const Exchange& exchange : schedule.exchanges) {
        if (exchange.messages_sent == 0) continue;
        Use& use = uses.at(exchange.peer);
        Pair& known = pair(exchange.peer);
        use.sends = use.ready = true;
        use.slot_out = next_slot(known.out, known.runs_out++);
        Out& out = known.out[static_cast<std::size_t>(use.slot_out)];
        if (needs_credit(exchange, out)) {
            const SlotCounter counter{Counter::Kind::credit, exchange.peer, use.slot_out};
            use.credit = out.credits = next_credit(out);
            use.ready = counters.read(counter) >= use.credit;
            if (use.ready && out.credits > limit_) {
                counters.set_to_zero(counter);
                out.credits = 0;
            }
            if (credits_ == Credits::at_end) ++out.credits;
        }
        if (out.landed > limit_) out.landed = 0;
        out.landed += exchange.messages_sent;
    }
}

void Ledger::end(const Uses& uses, SlotCounters& counters) {
    for (const auto& [peer, use] : uses) {
        if (!use.receives) continue;
        In& in = pair(peer).in[static_cast<std::size_t>(use.slot_in)];
        --in.in_flight;
        if (credits_ == Credits::at_end)
            restart_landing(in, {Counter::Kind::landed, peer, use.slot_in}, counters);
    }
}

std::uint64_t Ledger::threshold(const Uses& uses, const Trigger& trigger) {
    switch (trigger.counter.kind) {
        case Counter::Kind::landed:
            return uses.at(trigger.counter.which).landed_before + trigger.threshold;
        case Counter::Kind::credit:
            return uses.at(trigger.counter.which).credit;
        case Counter::Kind::gate:
        case Counter::Kind::stage:
        case Counter::Kind::none:
            break;
    }
    return trigger.threshold;
}

}  // namespace lapwing::triggered
