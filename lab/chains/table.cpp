// The requirements of lists on their chain forms, and the chain forms of all ranks as one table.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "chains/model.hpp"

namespace lapwing::checker {
namespace {

constexpr TaskIndex no_task = std::numeric_limits<TaskIndex>::max();

}  // namespace

ListFacts::ListFacts(std::span<const List> lists, const Traffic& traffic, std::span<const int> hosts)
    : hosts_(hosts), waits_(lists.size()), locals_(lists.size()), bytes_(traffic.size(), 0) {
    if (!hosts.empty() && hosts.size() != lists.size()) {
        throw_invalid(fmt::format("{} lists, and the hosts of {} ranks", lists.size(), hosts.size()));
    }
    for (PairIndex i = 0; i < traffic.size(); ++i) {
        if (traffic[i].sends != traffic[i].recvs) {
            throw_invalid(
                fmt::format("rank {} does not receive what rank {} sends: prove lists before their "
                            "chain forms",
                            traffic[i].receiver, traffic[i].sender));
        }
    }
    std::uint64_t left = max_bytes_of_chains;
    for (const List& list : lists) {
        for (const Task& task : list.tasks) {
            if (!sends(task.kind)) continue;
            if (task.source.length > left) {
                throw_invalid(
                    fmt::format("the chain forms of lists that send more than {} bytes in all are not "
                                "proven: take smaller blocks",
                                max_bytes_of_chains));
            }
            left -= task.source.length;
        }
    }
    std::vector<std::uint64_t> arriving(traffic.size(), 0);
    std::vector<std::uint64_t> ends(traffic.messages());
    std::vector<std::uint32_t> received(traffic.size(), 0);
    std::vector<std::uint32_t> waited(traffic.size(), 0);
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
        first_task_.push_back(tasks_.size());
        for (TaskIndex i = 0; i < lists[rank].tasks.size(); ++i) {
            const Task& task = lists[rank].tasks[i];
            TaskFacts facts;
            facts.waits = static_cast<std::uint32_t>(waits_[rank].size());
            facts.locals = static_cast<std::uint32_t>(locals_[rank].size());
            if (task.kind == Kind::copy || task.kind == Kind::reduce) {
                locals_[rank].push_back(i);
            } else {
                facts.pair = traffic.pair_of(static_cast<int>(rank), i);
            }
            if (sends(task.kind)) {
                facts.bytes = std::max<std::uint64_t>(task.source.length, 1);
                facts.position = bytes_[facts.pair];
                bytes_[facts.pair] += facts.bytes;
            } else if (task.kind == Kind::recv) {
                facts.bytes = std::max<std::uint64_t>(task.target.length, 1);
                facts.position = arriving[facts.pair];
                arriving[facts.pair] += facts.bytes;
                ends[traffic[facts.pair].first_recv + received[facts.pair]++] = arriving[facts.pair];
            } else if (task.kind == Kind::wait) {
                waited[facts.pair] += static_cast<std::uint32_t>(task.count);
                const std::uint32_t count = waited[facts.pair];
                if (count > received[facts.pair]) {
                    throw_invalid(
                        "a list waits for a receive that it has not posted: prove lists before their "
                        "chain forms");
                }
                const std::uint64_t end = count == 0 ? 0 : ends[traffic[facts.pair].first_recv + count - 1];
                waits_[rank].push_back({i, facts.pair, end});
            }
            tasks_.push_back(facts);
        }
    }
}

std::uint64_t ListFacts::total_bytes() const {
    return std::accumulate(bytes_.begin(), bytes_.end(), std::uint64_t{0});
}

ChainTable::ChainTable(std::span<const List> all_lists, const Traffic& all_traffic,
                       const ListFacts& all_facts, std::span<const Chains> all_forms)
    : lists(all_lists), traffic(all_traffic), facts(all_facts), forms(all_forms) {
    const auto add = [&](int rank, int stage, std::uint32_t number, const Chain& chain) {
        TableChain& added =
            chains.emplace_back(TableChain{rank, stage, number, static_cast<std::uint32_t>(moves.size())});
        for (const Step& step : chain) {
            Move& move = moves.emplace_back();
            move.kind = step.kind;
            if (step.kind == Step::Kind::signal || step.kind == Step::Kind::await) {
                move.index = gates + static_cast<std::uint32_t>(step.gate);
                move.amount = step.kind == Step::Kind::signal ? 1 : step.count;
                continue;
            }
            const TaskFacts& of = facts.task(rank, step.task);
            const Task& task = lists[rank].tasks[step.task];
            const Span& whole = step.kind == Step::Kind::send ? task.source : task.target;
            move.index = of.pair;
            move.amount = std::max<std::uint64_t>(step.span.length, 1);
            move.position = of.position + (step.span.offset - whole.offset);
            move.waits = of.waits;
            move.locals = of.locals;
        }
        added.end = static_cast<std::uint32_t>(moves.size());
    };
    const auto here = [&] { return static_cast<std::uint32_t>(chains.size()); };
    for (std::size_t index = 0; index < forms.size(); ++index) {
        const Chains& of = forms[index];
        const int rank = static_cast<int>(index);
        RankPlan& plan = ranks.emplace_back();
        plan.first = here();
        for (const Chain& chain : of.receives) add(rank, -1, here() - plan.first, chain);
        plan.end = here();
        for (std::size_t i = 0; i < of.stages.size(); ++i) {
            const std::uint32_t first = here();
            for (const Chain& chain : of.stages[i].chains)
                add(rank, static_cast<int>(i), here() - first, chain);
            plan.stages.push_back({first, here()});
        }
        add_host_steps(rank);
        gates += static_cast<std::uint32_t>(of.gates);
    }
}

void ChainTable::add_host_steps(int rank) {
    const Chains& of = forms[rank];
    const List& list = lists[rank];
    RankPlan& plan = ranks[rank];
    TaskIndex next = 0;  // of the list
    const auto take = [&](const std::vector<Task>& tasks) {
        for (const Task& task : tasks) {
            HostStep& host_step = plan.host_steps.emplace_back();
            if (task.kind == Kind::wait && !facts.intra_node(rank, task)) {
                // Counted from the beginning of the list.
                host_step.kind = HostStep::Kind::wait;
                host_step.task = no_task;
                TaskIndex receive = 0;
                for (std::uint64_t left = task.count; left > 0; ++receive) {
                    const Task& of_list = list.tasks[receive];
                    if (of_list.kind == Kind::recv && of_list.peer == task.peer) --left;
                }
                const TaskFacts& last = facts.task(rank, receive - 1);
                host_step.pair = last.pair;
                host_step.bytes = last.position + last.bytes;
                continue;
            }
            while (!facts.by_processor(rank, list.tasks[next])) ++next;
            host_step.task = next++;
            if (task.kind == Kind::copy || task.kind == Kind::reduce) continue;
            plan.intra_node = intra_node = true;
            const TaskFacts& of_task = facts.task(rank, host_step.task);
            host_step.pair = of_task.pair;
            host_step.bytes = of_task.bytes;
            host_step.kind = task.kind == Kind::recv   ? HostStep::Kind::post
                             : task.kind == Kind::wait ? HostStep::Kind::wait
                                                       : HostStep::Kind::send;
            if (host_step.kind == HostStep::Kind::wait)
                host_step.bytes = facts.waits(rank)[of_task.waits].end;
        }
    };
    for (std::size_t i = 0; i < of.stages.size(); ++i) {
        if (i > 0 && !of.stages[i].local.empty())
            plan.host_steps.push_back({HostStep::Kind::stage, no_task, 0, i});
        take(of.stages[i].local);
        plan.stages[i].host_steps = static_cast<std::uint32_t>(plan.host_steps.size());
        take(of.stages[i].beside);
    }
    if (!of.last.empty()) plan.host_steps.push_back({HostStep::Kind::stage, no_task, 0, every_stage});
    take(of.last);
}

std::string ChainTable::describe(std::uint32_t chain, std::uint32_t move) const {
    const TableChain& of = chains[chain];
    const std::uint32_t step = move - of.first;
    const Chains& all = forms[of.rank];
    if (of.stage < 0) {
        return fmt::format("receive chain {}, step {} ({})", of.number, step,
                           print(all.receives[of.number][step]));
    }
    return fmt::format("sending chain {} of stage {}, step {} ({})", of.number, of.stage, step,
                       print(all.stages[of.stage].chains[of.number][step]));
}

TaskIndex ChainTable::task_of(std::uint32_t chain, std::uint32_t move) const {
    const TableChain& of = chains[chain];
    const Chains& all = forms[of.rank];
    const Chain& steps = of.stage < 0 ? all.receives[of.number] : all.stages[of.stage].chains[of.number];
    return steps[move - of.first].task;
}

}  // namespace lapwing::checker
