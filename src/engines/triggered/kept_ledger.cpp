#include "engines/triggered/kept_ledger.hpp"

#include <algorithm>

namespace lapwing::triggered {
namespace {

constexpr int slot = 0;

}  // namespace

KeptLedger::KeptLedger(const Schedule& schedule, std::uint64_t limit, std::uint64_t first) : limit_(limit) {
    for (const Exchange& exchange : schedule.exchanges) {
        Pair& pair = pairs_[exchange.peer];
        pair.messages_received = exchange.messages_received;
        pair.messages_sent = exchange.messages_sent;
        pair.bytes_received = exchange.bytes_received > 0;
        pair.bytes_sent = exchange.bytes_sent > 0;
        pair.landed = pair.sent = pair.credits = first;
    }
}

Uses KeptLedger::begin(SlotCounters& counters) {
    Uses uses;
    for (auto& [peer, pair] : pairs_) {
        Use& use = uses[peer];
        if (pair.messages_received == 0) continue;
        use.receives = true;
        use.gives_credit = pair.bytes_received || pair.landed > limit_;
        if (pair.landed > limit_) {
            counters.set_to_zero({Counter::Kind::landed, peer, slot});
            pair.landed = 0;
        }
        use.landed_before = pair.landed;
        pair.landed += pair.messages_received;
        use.landed_after = pair.landed;
    }
    return uses;
}

bool KeptLedger::can_send(SlotCounters& counters) const {
    return std::all_of(pairs_.begin(), pairs_.end(), [&](const auto& entry) {
        const auto& [peer, pair] = entry;
        if (pair.messages_sent == 0 || !asks(pair) || pair.credits < limit_) return true;
        return counters.read({Counter::Kind::credit, peer, slot}) > pair.credits;
    });
}

void KeptLedger::send(Uses& uses, SlotCounters& counters) {
    for (auto& [peer, pair] : pairs_) {
        if (pair.messages_sent == 0) continue;
        Use& use = uses.at(peer);
        use.sends = use.ready = true;
        if (asks(pair)) {
            const SlotCounter credit{Counter::Kind::credit, peer, slot};
            use.credit = ++pair.credits;
            use.ready = counters.read(credit) >= use.credit;
            if (pair.credits > limit_) {
                counters.set_to_zero(credit);
                pair.credits = 0;
            }
        }
        if (pair.sent > limit_) pair.sent = 0;
        pair.sent += pair.messages_sent;
    }
}

}  // namespace lapwing::triggered
