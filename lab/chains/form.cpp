// The chains of one rank alone.
#include <fmt/format.h>

#include <algorithm>

#include "chains/model.hpp"
#include "task/text.hpp"

namespace lapwing::checker {
namespace {

class Form {
  public:
    Form(const List& list, const ListFacts& facts, const Chains& chains, const ChainLimits& limits)
        : list_(list),
          facts_(facts),
          chains_(chains),
          limits_(limits),
          moved_(list.tasks.size(), 0),
          steps_(list.tasks.size(), 0) {}

    std::optional<ChainFault> check() {
        check_head();
        if (!fault_) check_chains();
        if (!fault_) check_tasks();
        if (!fault_) check_gates();
        if (!fault_) check_host_steps();
        return std::move(fault_);
    }

  private:
    void check_chains() {
        signalled_.assign(static_cast<std::size_t>(chains_.gates), 0);
        awaited_.assign(static_cast<std::size_t>(chains_.gates), 0);
        awaited_by_.assign(static_cast<std::size_t>(chains_.gates), nullptr);
        for (std::size_t i = 0; i < chains_.receives.size(); ++i) {
            check_chain(chains_.receives[i], false, fmt::format("receive chain {}", i));
            if (fault_) return;
        }
        for (std::size_t stage = 0; stage < chains_.stages.size(); ++stage) {
            const std::vector<Chain>& pieces = chains_.stages[stage].chains;
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                check_chain(pieces[i], true, fmt::format("sending chain {} of stage {}", i, stage));
                if (fault_) return;
            }
        }
    }

    void refuse(std::optional<std::size_t> task, std::string why) {
        fault_ = {list_.rank, task, std::move(why)};
    }

    void check_head() {
        if (chains_.rank == list_.rank && chains_.ranks == list_.ranks &&
            chains_.in_bytes == list_.in_bytes && chains_.out_bytes == list_.out_bytes &&
            chains_.scratch_bytes == list_.scratch_bytes && chains_.gates >= 0) {
            return;
        }
        refuse(std::nullopt, "its chains are not those of its list: rank, ranks or sizes of memories differ");
    }

    // Checks each step by itself.
    void check_chain(const Chain& chain, bool sending, const std::string& which) {
        // The pieces of the sending chain are one.
        awaiting_ = sending ? static_cast<const void*>(&chains_.stages) : &chain;
        if (chain.empty()) {
            return refuse(std::nullopt, fmt::format("{} has no steps", which));
        }
        const std::size_t max_steps = std::max<std::size_t>(limits_.chain_steps, 3);
        if (chain.size() > max_steps) {
            return refuse(std::nullopt,
                          fmt::format("{} has {} steps, of at most {}", which, chain.size(), max_steps));
        }
        for (std::size_t i = 0; i < chain.size(); ++i) {
            const std::string fault = fault_of(chain[i], sending);
            if (fault.empty()) continue;
            const bool known = chain[i].task < list_.tasks.size();
            return refuse(known ? std::optional<std::size_t>(chain[i].task) : std::nullopt,
                          fmt::format("{}, step {} ({}) {}", which, i, print(chain[i]), fault));
        }
    }

    std::string fault_of(const Step& step, bool sending) {
        if (step.task >= list_.tasks.size())
            return fmt::format("names task {}, which does not exist", step.task);
        if (step.kind == Step::Kind::signal || step.kind == Step::Kind::await) {
            if (step.gate < 0 || step.gate >= chains_.gates) return "names a gate that does not exist";
            if (step.kind == Step::Kind::await && step.count == 0) return "awaits nothing";
            if (step.kind == Step::Kind::signal) {
                ++signalled_[step.gate];
            } else {
                // Of chains that run beside each other, each could take the other's signals.
                const void*& by = awaited_by_[step.gate];
                if (by != nullptr && by != awaiting_) return "awaits a gate that another chain awaits, too";
                by = awaiting_;
                awaited_[step.gate] += step.count;
            }
            return {};
        }
        const Task& task = list_.tasks[step.task];
        if (facts_.intra_node(list_.rank, task))
            return "belongs to an intra-node peer: the processor must do it, not a chain";
        const bool send = step.kind == Step::Kind::send;
        if (send ? !sends(task.kind) : task.kind != Kind::recv) return "is of another kind than its task";
        if (step.peer != task.peer) return "has another peer than its task";
        if (send && !sending) return "is a send among receives";
        if (!send && sending && facts_.bytes(facts_.task(list_.rank, step.task).pair) > limits_.eager_bytes) {
            return fmt::format(
                "is a receive among sends, and rank {} sends {} bytes in all: more than the {} that a "
                "connection holds",
                step.peer, facts_.bytes(facts_.task(list_.rank, step.task).pair), limits_.eager_bytes);
        }
        const Span& whole = send ? task.source : task.target;
        const bool inside = step.span.space == whole.space && step.span.offset >= whole.offset &&
                            step.span.length <= whole.length &&
                            step.span.offset - whole.offset <= whole.length - step.span.length;
        if (!inside) return "lies outside the span of its task";
        if (step.span.length == 0 && whole.length != 0) return "moves nothing";
        if (step.span.length > std::max<std::uint64_t>(limits_.step_bytes, 1)) {
            return fmt::format("moves more than {} bytes", limits_.step_bytes);
        }
        moved_[step.task] += step.span.length;
        ++steps_[step.task];
        return {};
    }

    // Gaps between the parts of a message show in a run: a step at the wrong position of its connection.
    void check_tasks() {
        for (std::size_t i = 0; i < list_.tasks.size(); ++i) {
            const Task& task = list_.tasks[i];
            if (!sends(task.kind) && task.kind != Kind::recv) continue;
            if (facts_.intra_node(list_.rank, task)) continue;
            const std::uint64_t whole = sends(task.kind) ? task.source.length : task.target.length;
            if (steps_[i] == 0) return refuse(i, "no step of the chains does it");
            if (moved_[i] != whole || (whole == 0 && steps_[i] != 1)) {
                return refuse(i, fmt::format("the {} steps that do it move {} bytes in all, not {}",
                                             steps_[i], moved_[i], whole));
            }
        }
    }

    void check_gates() {
        for (int gate = 0; gate < chains_.gates; ++gate) {
            if (signalled_[gate] > std::max<std::uint64_t>(limits_.gate_signals, 1)) {
                return refuse(std::nullopt, fmt::format("gate {} gets {} signals and holds {}", gate,
                                                        signalled_[gate], limits_.gate_signals));
            }
            if (signalled_[gate] != awaited_[gate]) {
                return refuse(std::nullopt, fmt::format("gate {} gets {} signals, and {} are awaited", gate,
                                                        signalled_[gate], awaited_[gate]));
            }
        }
    }

    // The processor's tasks must be in list order. With intra-node peers, waits for inter-node peers may
    // stand between them.
    void check_host_steps() {
        std::vector<TaskIndex> wanted;
        bool intra_node = false;
        for (TaskIndex i = 0; i < list_.tasks.size(); ++i) {
            intra_node = intra_node || facts_.intra_node(list_.rank, list_.tasks[i]);
            if (facts_.by_processor(list_.rank, list_.tasks[i])) wanted.push_back(i);
        }
        std::size_t next = 0;
        const auto check = [&](const std::vector<Task>& tasks) {
            for (const Task& task : tasks) {
                if (next < wanted.size() && task == list_.tasks[wanted[next]]) {
                    ++next;
                    continue;
                }
                if (intra_node && is_inter_node_wait(task)) continue;
                refuse(next < wanted.size() ? std::optional<std::size_t>(wanted[next]) : std::nullopt,
                       fmt::format("the processor does {} instead", print(task)));
                return false;
            }
            return true;
        };
        for (const Stage& stage : chains_.stages) {
            if (!check(stage.local) || !check(stage.beside)) return;
        }
        if (check(chains_.last) && next < wanted.size()) {
            refuse(wanted[next], "the processor never does it");
        }
    }

    // Returns whether the task is a wait for existing receives of an inter-node peer.
    bool is_inter_node_wait(const Task& task) const {
        if (task.kind != Kind::wait || task.count == 0 || task.peer < 0 || task.peer >= list_.ranks)
            return false;
        if (facts_.intra_node(list_.rank, task)) return false;
        const auto receives = std::count_if(list_.tasks.begin(), list_.tasks.end(), [&](const Task& other) {
            return other.kind == Kind::recv && other.peer == task.peer;
        });
        return task.count <= static_cast<std::uint64_t>(receives);
    }

    const List& list_;
    const ListFacts& facts_;
    const Chains& chains_;
    const ChainLimits& limits_;
    std::optional<ChainFault> fault_;
    std::vector<std::uint64_t> moved_;  // bytes, by task
    std::vector<std::uint32_t> steps_;  // by task
    std::vector<std::uint64_t> signalled_;
    std::vector<std::uint64_t> awaited_;
    std::vector<const void*> awaited_by_;  // a receive chain, or the sending chain
    const void* awaiting_ = nullptr;       // the current chain
};

}  // namespace

std::optional<ChainFault> check_chain_form(std::span<const List> lists, const ListFacts& facts,
                                           std::span<const Chains> chains, const ChainLimits& limits) {
    if (lists.size() != chains.size()) {
        return ChainFault{
            0, std::nullopt,
            fmt::format("{} lists need as many chain forms, not {}", lists.size(), chains.size())};
    }
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
        if (auto fault = Form(lists[rank], facts, chains[rank], limits).check()) return fault;
    }
    return std::nullopt;
}

}  // namespace lapwing::checker
