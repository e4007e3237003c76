#include "engines/kernel/chain_plan.hpp"

#include <algorithm>

#include "engines/kernel/ring.hpp"

namespace lapwing::kernel {

void HostProgram::add(const Task& task) {
    if (task.kind == Kind::copy || task.kind == Kind::reduce) {
        has_work = true;
        needs_program = needs_program || (task.kind == Kind::reduce && task.op == Operator::user);
        steps.push_back({HostStep::Kind::work, 0, 0, task});
        return;
    }
    if (task.kind == Kind::wait) awaited += task.count;
    steps.push_back({HostStep::Kind::intra_node, 0, awaited, task});
    if (task.kind == Kind::recv) receives_until = steps.size();
}

void HostProgram::plan_messages() {
    std::vector<Task> tasks;
    for (const HostStep& step : steps) {
        if (step.kind == HostStep::Kind::intra_node) tasks.push_back(step.task);
    }
    messages = MessagePlan(tasks);
}

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
    receives.reserve(all.receives.size());
    stages.reserve(all.stages.size());
    for (const Chain& chain : all.receives)
        receives.push_back(plan(chain, options.low_water_mark, slots, noted));
    for (const Stage& stage : all.stages) {
        PlannedStage& planned = stages.emplace_back();
        for (const Chain& chain : stage.chains)
            planned.chains.push_back(plan(chain, options.low_water_mark, slots, noted));
    }
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
    host.plan_messages();
    fits_sockets_ = fits(options.socket_bytes);
}

// No send may wait for another step, and the messages of each peer must fit into a quarter of a socket: the
// peer's send must complete however small this rank's receive window is.
bool ChainPlan::fits(std::uint64_t socket_bytes) const {
    if (stages.size() > 1 || wire_bytes > socket_bytes) return false;
    std::vector<std::uint64_t> received(peers.size());
    bool sends_first = true;
    const auto check = [&](const PlannedChain& chain) {
        bool waits = false;
        for (const PlannedStep& step : chain) {
            if (step.kind == Step::Kind::receive) received[step.slot] += step.bytes;
            if (step.kind == Step::Kind::send && waits) sends_first = false;
            waits = waits || !step.sends();
        }
    };
    for (const PlannedChain& chain : receives) check(chain);
    for (const PlannedStage& stage : stages) {
        for (const PlannedChain& chain : stage.chains) check(chain);
    }
    return sends_first &&
           std::ranges::all_of(received, [&](std::uint64_t bytes) { return bytes <= socket_bytes / 4; });
}

PlannedChain ChainPlan::plan(const Chain& chain, std::uint64_t low_water_mark, PeerNumbers& slots,
                             Receipts* receipts) {
    PlannedChain planned;
    planned.reserve(chain.size());
    for (const Step& step : chain) {
        PlannedStep& next = planned.emplace_back();
        next.kind = step.kind;
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
        if (step.kind != Step::Kind::receive || receipts == nullptr) continue;
        // A long message is several steps. It has arrived with the last of them.
        std::vector<Receipt>& of_peer = (*receipts)[step.peer];
        if (of_peer.empty() || of_peer.back().task != step.task) of_peer.emplace_back();
        of_peer.back() = {chains_, static_cast<std::uint32_t>(planned.size()), step.task};
    }
    set_low_water_marks(planned, low_water_mark);
    ++chains_;
    return planned;
}

void ChainPlan::add_host_steps(const std::vector<Task>& tasks, const std::vector<bool>& intra_node,
                               const Receipts& receipts) {
    for (const Task& task : tasks) {
        if (task.kind != Kind::wait || is_intra_node(intra_node, task)) {
            host.add(task);
            continue;
        }
        const Receipt& last = receipts.at(task.peer).at(task.count - 1);
        chain(last.chain)[last.steps - 1].signals_completion = true;
        host.steps.push_back({HostStep::Kind::receipt, last.chain, last.steps});
    }
}

PlannedChain& ChainPlan::chain(std::uint32_t number) {
    if (number < receives.size()) return receives[number];
    number -= static_cast<std::uint32_t>(receives.size());
    std::size_t stage = 0;
    for (; number >= stages[stage].chains.size(); ++stage)
        number -= static_cast<std::uint32_t>(stages[stage].chains.size());
    return stages[stage].chains[number];
}

}  // namespace lapwing::kernel
