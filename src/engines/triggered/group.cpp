#include "engines/triggered/group.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "engines/local_work.hpp"

namespace lapwing::triggered {
namespace {

constexpr auto longest_farewell = std::chrono::milliseconds(200);
// Of that, for credits. Nobody needs the last ones; and over `sockets` one whose target is gone is counted
// neither as done nor as failed.
constexpr auto longest_wait_for_credits = std::chrono::milliseconds(10);
constexpr std::byte nothing{};  // what a message of no bytes is made of

// That many runs have counters at once; others wait for them. More than the two slots of a pair would let
// begin.
constexpr std::uint64_t runs_at_once = 4;
constexpr std::uint64_t counters_of_group = 2;

constexpr std::size_t max_kept = 2;  // runs' works that are over

}  // namespace

Group::Group(DeferredWork& network, Link& messages, const Limits& limits, bool persistent)
    : network_(network),
      messages_(messages),
      limit_(network_.max_counted() / 2),
      pairs_(network_, messages_, limits.bytes),
      ledger_(limit_),
      keeps_(persistent),
      at_once_(network_.make_counter()),
      limits_(limits),
      paid_counter_{network_.make_counter()} {}

Group::~Group() {
    // Credits, and where this rank's memory is, are on their way when the last run ends here. What does not
    // leave in time, because its peer has ended, stays in place: the network may still look at it.
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
    pairs_.tell_no_more();
    for (const Kept& one : kept_) one.ends->tell_no_more();
    const auto all_told = [&] {
        return pairs_.all_told() &&
               std::all_of(kept_.begin(), kept_.end(), [](const Kept& one) { return one.ends->told(); });
    };
    try {
        while (broken_.empty() && ((!all_told() && passed() < longest_farewell) ||
                                   (!paid_.empty() && passed() < longest_wait_for_credits))) {
            pairs_.progress();
            for (const Kept& one : kept_) one.ends->ready();
            messages_.progress();
            take_back_credits();
            std::this_thread::yield();
        }
    } catch (const Error&) {
        // Nobody is left who waits for it.
    }
    if (paid_.empty()) return;
    network_.give_back(paid_.size());
    std::vector<std::unique_ptr<DeferredWork::Counter>> counters;
    counters.push_back(std::move(at_once_));
    counters.push_back(std::move(paid_counter_.counter));
    network_.keep(std::move(paid_), std::move(counters));
}

// Nothing is given back before the group ends, so the answer stays the same.
Verdict Group::admits(const Problem& problem, const std::function<List(int)>& list_of) {
    const Demand demand = demand_of(problem, list_of, limits_, keeps_ ? Landing::direct : Landing::slots);
    if (!demand.verdict) return demand.verdict;
    // Of these each start sets its own aside.
    if (keeps_) {
        if (counters_of_group + demand.counters <= limits_.counters) return Verdict::yes();
        return Verdict::no("a rank needs more counters than the group has (LAPWING_TRIGGER_COUNTERS)");
    }
    std::vector<std::set<std::int32_t>> peers = peers_;
    peers.resize(demand.peers.size());
    std::size_t max_peers = 0;
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        peers[rank].insert(demand.peers[rank].begin(), demand.peers[rank].end());
        max_peers = std::max(max_peers, peers[rank].size());
    }
    const std::uint64_t of_run = std::max(counters_of_run_, demand.counters);
    if (counters_of_group + Pair::counters * max_peers + runs_at_once * of_run > limits_.counters)
        return Verdict::no("a rank needs more counters than the group has (LAPWING_TRIGGER_COUNTERS)");
    peers_ = std::move(peers);
    counters_of_run_ = of_run;
    return Verdict::yes();
}

KeptEnds* Group::open(const std::shared_ptr<const Schedule>& schedule, std::uint32_t channel) {
    Kept made{nullptr, counters_of_kept(*schedule), max_of(*schedule).entries, false};
    if (counters_of_group + counters_of_kept_ + made.counters > limits_.counters) return nullptr;
    if (!network_.reserve(made.entries, true)) return nullptr;
    try {
        made.ends = std::make_unique<KeptEnds>(network_, messages_, schedule, channel, limit_);
    } catch (const Error&) {
        network_.give_back(made.entries);  // it has no more counters
        return nullptr;
    }
    counters_of_kept_ += made.counters;
    kept_.push_back(std::move(made));
    return kept_.back().ends.get();
}

void Group::close(KeptEnds* ends) {
    // Where a run has failed, the network may still use them.
    const auto uses_them = [&](const Run* run) { return run->kept == ends; };
    if (std::any_of(in_flight_.begin(), in_flight_.end(), uses_them)) return;
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.ends.get() == ends; });
    ends->close();
    found->closed = true;
    counters_of_kept_ -= found->counters;
    network_.give_back(found->entries);
    forget_closed();
}

// The last ones stay, for the same reason as works that are over; and those of which peers are still being
// told.
void Group::forget_closed() {
    std::size_t closed = 0;
    for (const Kept& one : kept_) closed += one.closed ? 1 : 0;
    std::erase_if(kept_, [&](const Kept& one) {
        if (!one.closed || closed <= max_kept || !one.ends->told()) return false;
        --closed;
        return true;
    });
}

void Group::start(Run& run) {
    if (run.kept != nullptr)
        run.kept->open(run.buffers.out);
    else
        for (const Exchange& exchange : run.schedule->exchanges) pairs_.find(exchange.peer);
    waiting_.push_back(&run);
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
    for (const Kept& one : kept_) one.ends->ready();
    launch_those_that_can();
    for (std::size_t i = 0; i < in_flight_.size();) {
        Run& run = *in_flight_[i];
        do_stages(run);
        if (!run.by_hand.empty()) do_by_hand(run);
        if (has_ended(run))
            end(run);  // takes it away
        else
            ++i;
    }
    pay_credits();
}

void Group::launch_those_that_can() {
    if (keeps_) {
        // Ranks may start them in different orders.
        std::erase_if(waiting_, [&](Run* run) {
            if (!can_launch_kept(*run)) return false;
            launch(*run);
            return true;
        });
        return;
    }
    while (!waiting_.empty() && can_launch(*waiting_.front())) {
        Run& run = *waiting_.front();
        waiting_.pop_front();
        launch(run);
    }
}

bool Group::can_launch_kept(Run& run) {
    if (!run.kept->ready()) return false;
    if (!run.has_begun) {
        run.uses = run.kept->ledger.begin(*run.kept);
        for (const auto& [peer, use] : run.uses)
            if (use.gives_credit) owed_.push_back(run.kept->credit(peer, use.slot_in));
        run.has_begun = true;
    }
    return run.kept->ledger.can_send(*run.kept);
}

Ends& Group::ends(const Run& run) {
    return run.kept != nullptr ? static_cast<Ends&>(*run.kept) : pairs_;
}

// All ranks launch their runs in the same order, so the eldest one always comes to its end.
bool Group::can_launch(const Run& run) {
    const std::uint64_t free = runs_at_once * counters_of_run_ - counters_made_ + idle_counters_.size();
    if (free < run.counters) return false;
    const bool ready = std::all_of(run.schedule->exchanges.begin(), run.schedule->exchanges.end(),
                                   [&](const Exchange& one) { return pairs_.find(one.peer).ready(); });
    return ready && ledger_.can_begin(*run.schedule, pairs_);
}

void Group::launch(Run& run) {
    if (run.kept != nullptr)
        run.kept->ledger.send(run.uses, *run.kept);
    else
        run.uses = ledger_.begin(*run.schedule, pairs_);
    std::vector<Work> all = works(*run.schedule, [&](std::int32_t peer) { return !run.uses.at(peer).ready; });
    for (std::uint64_t i = gates_of(all); i > 0; --i) run.gates.push_back(take_counter());
    run.done = take_counter();
    if (run.schedule->awaited_stages() > 0) run.stages = take_counter();
    run.stage = 0;
    run.reduced.resize(run.schedule->reduced_bytes);
    in_flight_.push_back(&run);
    std::uint64_t entries = 0;
    for (const Work& work : all) entries += entries_of(work);
    if (run.kept != nullptr) {
        for (const Work& work : all) queue(run, work);
    } else if (network_.reserve(entries, true)) {
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
    const DeferredWork::Target target = ends(run).target(write, run.uses.at(write.peer).slot_out);
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

// Those that can begin.
void Group::do_stages(Run& run) {
    const std::vector<Stage>& stages = run.schedule->stages;
    for (; run.stage < stages.size() && have_landed(run, stages[run.stage].arrivals); ++run.stage) {
        for (const Reduction& reduction : stages[run.stage].reductions) reduce(run, reduction);
        if (run.stages.counter != nullptr) run.stages.counter->add(1);
    }
}

void Group::reduce(Run& run, const Reduction& reduction) {
    std::byte* const result = run.reduced.data() + reduction.result;
    copy(run, reduction.target, result);
    const std::byte* source = at(run, reduction.source.front().place);
    if (reduction.source.size() > 1) {
        together_.resize(reduction.bytes);
        copy(run, reduction.source, together_.data());
        source = together_.data();
    }
    if (reduction.op == Operator::user)
        run.buffers.reducer->reduce(result, source, reduction.bytes);
    else
        lapwing::reduce(reduction.op, reduction.type, result, source, reduction.bytes);
}

void Group::copy(Run& run, const std::vector<Piece>& pieces, std::byte* target) {
    for (const Piece& piece : pieces) {
        std::memcpy(target, at(run, piece.place), piece.bytes);
        target += piece.bytes;
    }
}

bool Group::have_landed(Run& run, const std::vector<Arrival>& arrivals) {
    return std::all_of(arrivals.begin(), arrivals.end(), [&](const Arrival& arrival) {
        const Trigger landed{{Counter::Kind::landed, arrival.peer}, arrival.messages};
        return counter(run, landed.counter).read() >= threshold(run, landed);
    });
}

bool Group::has_ended(Run& run) {
    if (!run.by_hand.empty() || run.stage < run.schedule->stages.size()) return false;
    for (const auto& [peer, use] : run.uses) {
        if (use.receives && ends(run).read({Counter::Kind::landed, peer, use.slot_in}) < use.landed_after)
            return false;
    }
    return run.done.counter->read() >= run.done.value + run.schedule->writes.size();
}

void Group::end(Run& run) {
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
    if (run.kept == nullptr) {
        ledger_.end(run.uses, pairs_);
        for (const auto& [peer, use] : run.uses)
            if (use.receives) owed_.push_back(pairs_.credit(peer, use.slot_in));
    }
    run.done.value += run.schedule->writes.size();
    give_back(std::move(run.done));
    if (run.stages.counter != nullptr) {
        run.stages.value += run.schedule->stages.size();
        give_back(std::move(run.stages));
    }
    for (OwnCounter& gate : run.gates) {
        gate.value = gate.counter->read();
        give_back(std::move(gate));
    }
    run.gates.clear();
    network_.give_back(run.entries);
    run.entries = 0;
    keep_for_a_while(std::exchange(run.queued, {}));
    std::erase(in_flight_, &run);
    run.complete = true;
}

void Group::pay_credits() {
    while (!owed_.empty() && network_.reserve(1, false)) {
        paid_.push_back(network_.write(*at_once_, 0, &nothing, 1, owed_.front(), *paid_counter_.counter));
        owed_.pop_front();
    }
    take_back_credits();
}

// What they hold, once all of them have left.
void Group::take_back_credits() {
    if (paid_.empty()) return;
    // A peer that has left needs no credit.
    const std::uint64_t over = paid_counter_.counter->ended() - paid_counter_.value;
    if (over < paid_.size()) return;
    paid_counter_.value += over;
    network_.give_back(paid_.size());
    keep_for_a_while(std::exchange(paid_, {}));
}

void Group::keep_for_a_while(std::vector<std::unique_ptr<DeferredWork::Work>> works) {
    over_.push_back(std::move(works));
    if (over_.size() > max_kept) over_.pop_front();
}

DeferredWork::Counter& Group::counter(const Run& run, const Counter& counter) {
    switch (counter.kind) {
        case Counter::Kind::none:
            break;
        case Counter::Kind::gate:
            return *run.gates[static_cast<std::size_t>(counter.which)].counter;
        case Counter::Kind::stage:
            return *run.stages.counter;
        case Counter::Kind::landed:
            return ends(run).counter({counter.kind, counter.which, run.uses.at(counter.which).slot_in});
        case Counter::Kind::credit:
            return ends(run).counter({counter.kind, counter.which, run.uses.at(counter.which).slot_out});
    }
    return *at_once_;
}

std::uint64_t Group::threshold(const Run& run, const Trigger& trigger) const {
    if (trigger.counter.kind == Counter::Kind::gate)
        return run.gates[static_cast<std::size_t>(trigger.counter.which)].value + trigger.threshold;
    if (trigger.counter.kind == Counter::Kind::stage) return run.stages.value + trigger.threshold;
    return Ledger::threshold(run.uses, trigger);
}

const std::byte* Group::at(Run& run, const Place& place) {
    switch (place.memory) {
        case Place::Memory::in:
            return run.buffers.in + place.offset;
        case Place::Memory::out:
            return run.buffers.out + place.offset;
        case Place::Memory::reduced:
            return run.reduced.data() + place.offset;
        case Place::Memory::slot:
            break;
    }
    return ends(run).slot(place.peer, run.uses.at(place.peer).slot_in) + place.offset;
}

OwnCounter Group::take_counter() {
    if (idle_counters_.empty()) {
        ++counters_made_;
        return {network_.make_counter(), 0};
    }
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
