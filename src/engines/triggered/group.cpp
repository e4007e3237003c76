#include "engines/triggered/group.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace lapwing::triggered {
namespace {

constexpr auto max_wait_at_end = std::chrono::milliseconds(200);
// Of that, for credits. No rank needs the last ones; and over `sockets` one whose target is gone is counted
// neither as done nor as failed.
constexpr auto max_wait_for_credits = std::chrono::milliseconds(10);
constexpr std::byte credit_byte{};

// So many runs of lists that are not persistent have counters at the same time; others wait for them. More
// than the two slots of a pair would let begin.
constexpr std::uint64_t runs_at_once = 4;
constexpr std::uint64_t counters_of_group = 2;

// Closed channels and works of ended runs that stay, because the network may still use them.
constexpr std::size_t max_retired = 2;

constexpr const char* too_few_counters =
    "a rank needs more counters than the group has (LAPWING_TRIGGER_COUNTERS)";

}  // namespace

Group::Group(DeferredWork& network, Link& messages, const GroupLimits& limits, const JobFailure* failure)
    : network_(network),
      messages_(messages),
      failure_(failure),
      limit_(network.max_counted() / 2),
      limits_(limits),
      at_once_(network.make_counter()),
      paid_counter_{network.make_counter()} {
    channels_.emplace_back(network, messages, limit_, limits.once.bytes);
}

Group::~Group() {
    const bool has_failed = !error_.empty() || (failure_ != nullptr && failure_->has_happened());
    // Peers that have not heard of it still write into the slots, which end here.
    if (has_failed) network_.stop();
    // Credits and announcements may be in flight when the last run ends here. Those that do not leave in
    // time, because their peer has ended, stay in place: the network may still use them.
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
    for (GroupChannel& one : channels_) one.channel.announcements().stop();
    const auto all_announced = [&] {
        return std::all_of(channels_.begin(), channels_.end(),
                           [](GroupChannel& one) { return one.channel.announcements().complete(); });
    };
    try {
        while (!has_failed && ((!all_announced() && passed() < max_wait_at_end) ||
                               (!paid_credits_.empty() && passed() < max_wait_for_credits))) {
            for (GroupChannel& one : channels_) one.channel.progress();
            messages_.progress();
            collect_paid_credits();
            std::this_thread::yield();
        }
    } catch (const Error&) {
        // No caller is left that could use it.
    }
    if (paid_credits_.empty()) return;
    network_.give_back(paid_credits_.size());
    std::vector<std::unique_ptr<DeferredWork::Counter>> counters;
    counters.push_back(std::move(at_once_));
    counters.push_back(std::move(paid_counter_.counter));
    network_.keep(std::move(paid_credits_), std::move(counters));
}

Verdict Group::admit(const Problem& problem, const std::function<List(int)>& list_of, bool persistent) {
    const Limits& limits = persistent ? limits_.persistent : limits_.once;
    const Demand demand = demand_of(problem, list_of, limits, persistent ? Landing::direct : Landing::slots);
    if (!demand.verdict) return demand.verdict;
    if (persistent)  // open() sets them aside
        return demand.counters <= limits.counters ? Verdict::yes() : Verdict::no(too_few_counters);
    std::vector<std::set<std::int32_t>> peers = peers_;
    peers.resize(demand.peers.size());
    std::size_t max_peers = 0;
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        peers[rank].insert(demand.peers[rank].begin(), demand.peers[rank].end());
        max_peers = std::max(max_peers, peers[rank].size());
    }
    const std::uint64_t of_run = std::max(max_counters_of_run_, demand.counters);
    if (counters_of_group + Channel::counters_of_pair * max_peers + runs_at_once * of_run > limits.counters)
        return Verdict::no(too_few_counters);
    peers_ = std::move(peers);
    max_counters_of_run_ = of_run;
    return Verdict::yes();
}

GroupChannel* Group::open(const Schedule& schedule, std::uint32_t number) {
    const Needs needs = needs_of(schedule);
    const std::uint64_t counters = needs.counters + Channel::counters_of(schedule);
    std::uint64_t in_use = 0;
    for (const GroupChannel& one : channels_) in_use += one.is_closed ? 0 : one.counters;
    if (in_use + counters > limits_.persistent.counters) return nullptr;
    if (!network_.reserve(needs.entries, true)) return nullptr;
    try {
        GroupChannel& made = channels_.emplace_back(network_, messages_, limit_, schedule, number);
        made.counters = counters;
        made.entries = needs.entries;
        return &made;
    } catch (const Error&) {
        network_.give_back(needs.entries);  // the network has no more counters
        return nullptr;
    }
}

void Group::close(GroupChannel& channel) {
    // The network may still use the channel of a run that has failed.
    if (std::any_of(in_flight_.begin(), in_flight_.end(),
                    [&](const TriggeredRun* run) { return run->channel == &channel.channel; }))
        return;
    channel.channel.close();
    channel.is_closed = true;
    network_.give_back(channel.entries);
    erase_closed_channels();
}

// But the last ones, and those that peers have not received the announcements of.
void Group::erase_closed_channels() {
    auto closed = static_cast<std::size_t>(
        std::count_if(channels_.begin(), channels_.end(), [](const auto& one) { return one.is_closed; }));
    channels_.remove_if([&](GroupChannel& one) {
        if (!one.is_closed || closed <= max_retired || !one.channel.announcements().complete()) return false;
        --closed;
        return true;
    });
}

void Group::start(TriggeredRun& run, GroupChannel& channel) {
    run.channel = &channel.channel;
    run.state = TriggeredRun::State::waiting;
    channel.channel.open(*run.schedule, run.buffers.out);
    channel.waiting.push_back(&run);
    if (error_.empty()) advance();
}

bool Group::test(TriggeredRun& run) {
    if (run.state == TriggeredRun::State::complete) return true;
    if (!error_.empty()) throw Error(ErrorCode::link, error_);
    try {
        if (failure_ != nullptr) failure_->check();
        advance();
        if (run.state != TriggeredRun::State::complete) messages_.progress();
    } catch (const Error& error) {
        error_ = error.what();
        throw;
    }
    return run.state == TriggeredRun::State::complete;
}

void Group::advance() {
    for (GroupChannel& one : channels_) {
        one.channel.progress();
        while (!one.waiting.empty() && can_launch(*one.waiting.front())) {
            TriggeredRun& run = *one.waiting.front();
            one.waiting.pop_front();
            launch(run);
        }
    }
    for (std::size_t i = 0; i < in_flight_.size();) {
        TriggeredRun& run = *in_flight_[i];
        run.do_stages();
        if (!run.by_hand.empty()) run.do_by_hand();
        if (run.has_ended())
            end(run);  // removes it
        else
            ++i;
    }
    pay_credits();
}

// All ranks launch the runs of a channel in the same order, so the oldest one always completes.
bool Group::can_launch(TriggeredRun& run) {
    Channel& channel = *run.channel;
    Ledger& ledger = channel.ledger();
    if (run.state == TriggeredRun::State::waiting) {
        if (!channel.is_ready(*run.schedule) || !ledger.can_begin(*run.schedule)) return false;
        run.uses = ledger.begin(*run.schedule, channel);
        run.state = TriggeredRun::State::begun;
        if (channel.is_persistent()) owe_credits(run);
    }
    if (!ledger.can_send(*run.schedule, channel)) return false;
    return channel.is_persistent() || counters_in_use_ + run.counters <= runs_at_once * max_counters_of_run_;
}

void Group::launch(TriggeredRun& run) {
    run.channel->ledger().send(*run.schedule, run.uses, *run.channel);
    std::vector<Work> all = works(*run.schedule, [&](std::int32_t peer) { return !run.uses.at(peer).ready; });
    for (std::uint64_t i = gates_of(all); i > 0; --i) run.gates.push_back(take_counter());
    run.done = take_counter();
    if (run.schedule->awaited_stages() > 0) run.stages = take_counter();
    bool has_entries = run.channel->is_persistent();
    if (!has_entries) {
        counters_in_use_ += run.counters;
        std::uint64_t entries = 0;
        for (const Work& work : all) entries += entries_of(work);
        has_entries = network_.reserve(entries, true);
        run.entries = has_entries ? entries : 0;
    }
    in_flight_.push_back(&run);
    run.launch(std::move(all), has_entries);
}

void Group::end(TriggeredRun& run) {
    run.finish();
    run.channel->ledger().end(run.uses, *run.channel);
    if (!run.channel->is_persistent()) {
        owe_credits(run);
        counters_in_use_ -= run.counters;
    }
    release(std::move(run.done), run.schedule->writes.size());
    if (run.stages.counter != nullptr) release(std::move(run.stages), run.schedule->stages.size());
    for (OwnCounter& gate : run.gates) {
        const std::uint64_t raised_by = gate.counter->read() - gate.value;
        release(std::move(gate), raised_by);
    }
    run.gates.clear();
    network_.give_back(std::exchange(run.entries, 0));
    retire(std::exchange(run.queued, {}));
    std::erase(in_flight_, &run);
    run.state = TriggeredRun::State::complete;
}

void Group::retire(Works works) {
    retired_.push_back(std::move(works));
    if (retired_.size() > max_retired) retired_.pop_front();
}

void Group::owe_credits(const TriggeredRun& run) {
    for (const auto& [peer, use] : run.uses)
        if (use.gives_credit) owed_credits_.push_back(run.channel->credit(peer, use.slot_in));
}

void Group::pay_credits() {
    while (!owed_credits_.empty() && network_.reserve(1, false)) {
        paid_credits_.push_back(
            network_.write(*at_once_, 0, &credit_byte, 1, owed_credits_.front(), *paid_counter_.counter));
        owed_credits_.pop_front();
    }
    collect_paid_credits();
}

// Releases their entries when all of them have left.
void Group::collect_paid_credits() {
    if (paid_credits_.empty()) return;
    // A peer that has ended needs no credit: failures count, too.
    const std::uint64_t over = paid_counter_.counter->ended() - paid_counter_.value;
    if (over < paid_credits_.size()) return;
    paid_counter_.value += over;
    network_.give_back(paid_credits_.size());
    retire(std::exchange(paid_credits_, {}));
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

void Group::release(OwnCounter counter, std::uint64_t raised_by) {
    counter.value += raised_by;
    idle_counters_.push_back(std::move(counter));
}

}  // namespace lapwing::triggered
