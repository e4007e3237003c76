#include "engines/kernel/chain_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "engines/kernel/ring.hpp"

namespace lapwing::kernel {

namespace {

// Whether the stage's chains may begin before its local work is done, so that both happen at the same time.
// No send may read what the work writes, and the work must not wait for messages.
bool work_may_follow(const Stage& stage) {
    for (const Task& task : stage.local) {
        if (task.kind == Kind::wait) return false;
        if (task.kind != Kind::copy && task.kind != Kind::reduce) continue;
        for (const Chain& chain : stage.chains) {
            for (const Step& step : chain) {
                if (step.kind == Step::Kind::send && step.span.overlaps(task.target)) return false;
            }
        }
    }
    return true;
}

// A receive of less than two marks is one piece. A chain enters the ring as a whole, so that its last
// receives may have to do without a mark.
void set_low_water_marks(PlannedChain& chain, std::uint64_t bytes) {
    if (bytes == 0) return;
    std::size_t operations = chain.size();
    for (PlannedStep& step : chain) {
        if (step.kind != Step::Kind::receive || step.bytes < bytes) continue;
        step.low_water_mark = static_cast<int>(step.bytes < 2 * bytes ? step.bytes : bytes);
        operations += step.operations() - 1;
        if (operations <= Ring::entries) continue;
        step.low_water_mark = 0;
        return;
    }
}

}  // namespace

ChainPlan::ChainPlan(const Chains& all, const std::vector<bool>& intra_node, const Options& options)
    : gates(all.gates), scratch_bytes(all.scratch_bytes) {
    PeerNumbers slots;
    // Host steps wait for messages only beside those of intra-node peers.
    Receipts receipts;
    Receipts* const noted = std::ranges::find(intra_node, true) != intra_node.end() ? &receipts : nullptr;
    receives = all.receives.size();
    chains.reserve(receives);
    stages.reserve(all.stages.size());
    for (const Chain& chain : all.receives) add(chain, options.low_water_mark, slots, noted);
    for (const Stage& stage : all.stages) {
        for (const Chain& chain : stage.chains) add(chain, options.low_water_mark, slots, noted);
        stages.push_back({0, chains.size()});
    }
    if (chains.size() > max_chains) throw Error(ErrorCode::unsupported, "a list has too many chains");
    peers = slots.peers();
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const Stage& stage = all.stages[i];
        if (i > 0 && !stage.local.empty()) host.steps.push_back({HostStep::Kind::stage, 0, i});
        add_host_steps(stage.local, intra_node, receipts);
        stages[i].host_steps = i == 0 && work_may_follow(stage) ? 0 : host.steps.size();
        add_host_steps(stage.beside, intra_node, receipts);
    }
    if (!all.last.empty()) host.steps.push_back({HostStep::Kind::end});
    add_host_steps(all.last, intra_node, receipts);
    std::vector<Task> messages;
    for (const HostStep& step : host.steps) {
        if (step.kind == HostStep::Kind::intra_node) messages.push_back(step.task);
    }
    host.messages = MessagePlan(messages);
    fits_sockets_ = fits(options.socket_bytes);
}

// No send may wait for another step, and the messages of each peer must fit into a quarter of a socket: the
// peer's send must complete however small this rank's receive window is.
bool ChainPlan::fits(std::uint64_t socket_bytes) const {
    if (stages.size() > 1 || wire_bytes > socket_bytes) return false;
    std::vector<std::uint64_t> received(peers.size());
    bool sends_first = true;
    for (const PlannedChain& chain : chains) {
        bool waits = false;
        for (const PlannedStep& step : chain) {
            if (step.kind == Step::Kind::receive) received[step.slot] += step.bytes;
            if (step.kind == Step::Kind::send && waits) sends_first = false;
            waits = waits || !step.sends();
        }
    }
    return sends_first &&
           std::ranges::all_of(received, [&](std::uint64_t bytes) { return bytes <= socket_bytes / 4; });
}

void ChainPlan::add(const Chain& chain, std::uint64_t low_water_mark, PeerNumbers& slots,
                    Receipts* receipts) {
    const auto number = static_cast<std::uint32_t>(chains.size());
    PlannedChain& planned = chains.emplace_back();
    planned.reserve(chain.size());
    for (const Step& step : chain) {
        PlannedStep& next = planned.emplace_back();
        next.kind = step.kind;
        if (step.is_last) next.task = step.task;
        next.space = step.span.space;
        next.offset = step.span.offset;
        if (next.has_peer()) {
            next.slot = static_cast<std::uint32_t>(slots.of(step.peer));
            next.is_signal = step.span.length == 0;
            next.bytes = next.is_signal ? 1 : step.span.length;
            wire_bytes += next.bytes;
            if (steps_of_peers.size() <= 2 * next.slot) steps_of_peers.resize(2 * (next.slot + 1));
            ++steps_of_peers[next.direction()];
        } else {
            next.slot = static_cast<std::uint32_t>(step.gate);
            next.is_signal = true;
            next.bytes = step.kind == Step::Kind::signal ? 1 : step.count;
            max_signals = std::max(max_signals, next.bytes);
        }
        if (receipts != nullptr && step.kind == Step::Kind::receive && step.is_last)
            (*receipts)[step.peer].push_back({number, static_cast<std::uint32_t>(planned.size())});
    }
    set_low_water_marks(planned, low_water_mark);
}

void ChainPlan::add_host_steps(const std::vector<Task>& tasks, const std::vector<bool>& intra_node,
                               const Receipts& receipts) {
    for (const Task& task : tasks) {
        if (task.kind == Kind::copy || task.kind == Kind::reduce) {
            host.has_work = true;
            host.needs_program = host.needs_program || task.op == Operator::user;
            host.steps.push_back({HostStep::Kind::work, 0, 0, task});
        } else if (is_intra_node(intra_node, task)) {
            if (task.kind == Kind::wait) host.awaited += task.count;
            host.steps.push_back({HostStep::Kind::intra_node, 0, host.awaited, task});
            if (task.kind == Kind::recv) host.receives_until = host.steps.size();
        } else {
            const Receipt& last = receipts.at(task.peer).at(task.count - 1);
            chains[last.chain][last.steps - 1].signals_completion = true;
            host.steps.push_back({HostStep::Kind::receipt, last.chain, last.steps});
        }
    }
}

}  // namespace lapwing::kernel
