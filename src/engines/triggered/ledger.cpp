#include "engines/triggered/ledger.hpp"

namespace lapwing::triggered {

Ledger::Pair& Ledger::pair(std::int32_t peer) {
    const auto [found, is_new] = pairs_.try_emplace(peer);
    if (is_new) {
        for (Direction* direction : {&found->second.in, &found->second.out})
            for (Slot& slot : direction->slots) slot.count = first_;
    }
    return found->second;
}

bool Ledger::is_ready(const Slot& slot, const SlotCounter& credit, SlotCounters& counters) {
    // Or nobody has used it before.
    return slot.runs == 0 || counters.read(credit) >= slot.count;
}

bool Ledger::can_begin(const Schedule& schedule, SlotCounters& counters) {
    for (const Exchange& exchange : schedule.exchanges) {
        const Pair& known = pair(exchange.peer);
        const Slot& in = known.in.slots[static_cast<std::size_t>(next_slot(known.in))];
        if (exchange.messages_received > 0 && in.count > limit_ && in.in_flight > 0) return false;
        const int number = next_slot(known.out);
        const Slot& out = known.out.slots[static_cast<std::size_t>(number)];
        if (exchange.messages_sent > 0 && out.count > limit_ &&
            !is_ready(out, {Counter::Kind::credit, exchange.peer, number}, counters))
            return false;
    }
    return true;
}

Uses Ledger::begin(const Schedule& schedule, SlotCounters& counters) {
    Uses uses;
    for (const Exchange& exchange : schedule.exchanges) {
        Use& use = uses[exchange.peer];
        Pair& known = pair(exchange.peer);
        if (exchange.messages_received > 0) {
            use.receives = true;
            use.slot_in = next_slot(known.in);
            ++known.in.runs;
            Slot& slot = known.in.slots[static_cast<std::size_t>(use.slot_in)];
            use.landed_before = slot.count;
            slot.count += exchange.messages_received;
            use.landed_after = slot.count;
            ++slot.in_flight;
        }
        if (exchange.messages_sent > 0) {
            use.sends = true;
            use.slot_out = next_slot(known.out);
            ++known.out.runs;
            Slot& slot = known.out.slots[static_cast<std::size_t>(use.slot_out)];
            const SlotCounter counter{Counter::Kind::credit, exchange.peer, use.slot_out};
            use.credit = slot.count;
            use.ready = is_ready(slot, counter, counters);
            if (use.ready && slot.count > limit_) {
                counters.set_to_zero(counter);
                slot.count = 0;
            }
            ++slot.count;
            ++slot.runs;
        }
    }
    return uses;
}

void Ledger::end(const Uses& uses, SlotCounters& counters) {
    for (const auto& [peer, use] : uses) {
        if (!use.receives) continue;
        Slot& slot = pair(peer).in.slots[static_cast<std::size_t>(use.slot_in)];
        // A later run that has begun here waits for a count already.
        if (--slot.in_flight > 0 || slot.count <= limit_) continue;
        counters.set_to_zero({Counter::Kind::landed, peer, use.slot_in});
        slot.count = 0;
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
