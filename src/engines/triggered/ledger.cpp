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

Uses Ledger::begin(const Schedule& schedule, SlotCounters& counters) {
    Uses uses;
    for (const Exchange& exchange : schedule.exchanges) {
        Use& use = uses[exchange.peer];
        Pair& known = pair(exchange.peer);
        if (exchange.messages_received > 0) {
            use.receives = true;
            use.slot_in = static_cast<int>(known.in.runs++ % 2);
            Slot& slot = known.in.slots[static_cast<std::size_t>(use.slot_in)];
            use.landed_before = slot.count;
            slot.count += exchange.messages_received;
            use.landed_after = slot.count;
            ++slot.in_flight;
        }
        if (exchange.messages_sent > 0) {
            use.sends = true;
            use.slot_out = static_cast<int>(known.out.runs++ % 2);
            Slot& slot = known.out.slots[static_cast<std::size_t>(use.slot_out)];
            const SlotCounter counter{Counter::Kind::credit, exchange.peer, use.slot_out};
            use.credit = slot.count;
            // Nobody has used it before.
            use.ready = slot.runs == 0 || counters.read(counter) >= use.credit;
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
        case Counter::Kind::none:
            break;
    }
    return trigger.threshold;
}

}  // namespace lapwing::triggered
