// Runs of all chains of all ranks together.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/values.hpp"
#include "chains/model.hpp"

namespace lapwing::checker {

bool Order::is_late(int rank, const Move& move) const {
    switch (late) {
        case Late::receives:
            return move.kind == Step::Kind::receive;
        case Late::connection:
            return move.kind == Step::Kind::receive && move.index == which;
        case Late::rank:
            return rank == static_cast<int>(which);
        case Late::others:
            return rank != static_cast<int>(which);
        case Late::processors:
        case Late::random:
            break;
    }
    return false;
}

std::string Order::describe() const {
    std::string text = capacity == std::numeric_limits<std::uint64_t>::max()
                           ? std::string("when connections hold any number of bytes")
                           : "when connections hold " + counted(capacity, "byte");
    switch (late) {
        case Late::receives:
            return text + " and receives are late";
        case Late::connection:
            return text + " and the receives of one connection are late";
        case Late::rank:
            return text + fmt::format(" and rank {} is late", which);
        case Late::others:
            return text + fmt::format(" and rank {} is ahead", which);
        case Late::processors:
            return text + " and the processors are late";
        case Late::random:
            return text + fmt::format(" in the random order {}", which);
    }
    return text;
}

namespace {

constexpr std::uint32_t no_chain = std::numeric_limits<std::uint32_t>::max();

class ChainsRun {
  public:
    ChainsRun(const ChainTable& table, const Order& order)
        : table_(table),
          order_(order),
          random_(order.which + 1),
          streams_(table.traffic.size()),
          gates_(table.gates),
          ranks_(table.ranks.size()) {
        progress_.reserve(table.chains.size());
        for (const TableChain& chain : table.chains) progress_.push_back({chain.first, 0});
    }

    std::optional<ChainFault> run() {
        for (int rank = 0; rank < count() && !fault_; ++rank) start(rank);
        begin_fresh();
        while (!fault_) {
            std::vector<std::uint32_t>& able = prompt_.empty() ? late_ : prompt_;
            if (able.empty()) break;
            if (order_.late == Order::Late::random) {
                std::swap(able.back(), able[random_() % able.size()]);
            }
            const std::uint32_t event = able.back();
            able.pop_back();
            handle(event);
            begin_fresh();
        }
        if (!fault_) report_stuck();
        return std::move(fault_);
    }

  private:
    struct Progress {
        std::uint32_t move = 0;
        std::uint64_t done = 0;  // bytes of the move
    };
    // One direction of one connection.
    struct Stream {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        std::uint32_t sender = no_chain;  // the chain whose step is in flight
        std::uint32_t receiver = no_chain;
        bool sender_waits = false;
        bool receiver_waits = false;
        // Intra-node ranks only.
        bool carries = false;     // bytes are in transit
        std::uint64_t taken = 0;  // bytes that the receiver's processor has waited for
    };
    struct Gate {
        std::uint64_t signals = 0;
        std::uint32_t awaited_by = no_chain;  // chain
    };
    struct Rank {
        std::uint32_t stage = 0;
        bool in_stage = false;                // its chains have been submitted
        std::uint32_t stage_chains_open = 0;  // chains of the stage that are not complete
        std::uint32_t chains_open = 0;        // all chains that are not complete, with receive chains
        std::uint32_t host_step = 0;          // the next step of the processor
        std::uint32_t locals = 0;             // copies and reductions that are done
        std::uint32_t waits = 0;              // waits known to be satisfied
        std::uint64_t round = 0;
        bool in_round = false;
        bool notified = false;  // late_ has an event of its processor
    };

    // An event is one number: a chain moves bytes, intra-node bytes of a pair arrive, or a rank's processor
    // polls.
    std::uint32_t arrival_of(PairIndex pair) const {
        return static_cast<std::uint32_t>(table_.chains.size()) + pair;
    }
    std::uint32_t processor_of(int rank) const {
        return static_cast<std::uint32_t>(table_.chains.size() + streams_.size()) +
               static_cast<std::uint32_t>(rank);
    }
    void handle(std::uint32_t event) {
        if (event < arrival_of(0)) return move(event);
        if (event < processor_of(0)) return arrive(event - arrival_of(0));
        const int rank = static_cast<int>(event - processor_of(0));
        ranks_[rank].notified = false;
        advance_processor(rank);
    }

    int count() const { return static_cast<int>(ranks_.size()); }
    bool complete(int rank) const { return ranks_[rank].round == static_cast<std::uint64_t>(order_.rounds); }

    void fail(std::uint32_t chain, const std::string& why) {
        const std::uint32_t at = progress_[chain].move;
        fail(table_.chains[chain].rank, table_.task_of(chain, at),
             fmt::format("{} {}", table_.describe(chain, at), why));
    }
    void fail(int rank, std::optional<std::size_t> task, const std::string& why) {
        if (fault_) return;
        const std::uint64_t round = ranks_[rank].round;
        const std::string of = round == 0 ? "" : fmt::format("of collective {} in a row, ", round + 1);
        fault_ = {rank, task, fmt::format("{}{}; {}", of, why, order_.describe())};
    }

    void start(int rank) {
        Rank& of = ranks_[rank];
        const RankPlan& plan = table_.ranks[rank];
        of.stage = of.host_step = 0;
        of.in_stage = false;
        of.in_round = true;
        of.locals = 0;
        of.waits = 0;
        of.chains_open = plan.end - plan.first;
        launch(plan.first, plan.end);
        advance_processor(rank);
    }

    // Starts chains; the first one begins first.
    void launch(std::uint32_t first, std::uint32_t end) {
        for (std::uint32_t chain = end; chain-- > first;) {
            progress_[chain] = {table_.chains[chain].first, 0};
            fresh_.push_back(chain);
        }
    }

    // Called when a condition changes that the processor may wait for. It polls at once, or late.
    void notify_processor(int rank) {
        if (!processors_are_late()) return advance_processor(rank);
        if (ranks_[rank].notified) return;
        ranks_[rank].notified = true;
        late_.push_back(processor_of(rank));
    }

    bool processors_are_late() const { return order_.late == Order::Late::processors; }

    // Advances the processor and the stages as far as possible.
    void advance_processor(int rank) {
        Rank& of = ranks_[rank];
        const RankPlan& plan = table_.ranks[rank];
        // Messages of a rank that is ahead belong to the next round.
        if (!of.in_round) return;
        while (!fault_) {
            if (of.in_stage && of.stage_chains_open == 0) {
                of.in_stage = false;
                ++of.stage;
            } else if (!of.in_stage && of.stage < plan.stages.size() &&
                       of.host_step >= plan.stages[of.stage].host_steps) {
                const StagePlan& stage = plan.stages[of.stage];
                of.stage_chains_open = stage.end - stage.first;
                of.chains_open += of.stage_chains_open;
                of.in_stage = true;
                launch(stage.first, stage.end);
                // From here on the chains may be ahead of the processor.
                if (processors_are_late()) return notify_processor(rank);
            } else if (of.host_step < plan.host_steps.size() &&
                       run_host_step(rank, plan.host_steps[of.host_step])) {
                ++of.host_step;
            } else {
                break;
            }
        }
        if (!fault_ && of.host_step == plan.host_steps.size() && all_chains_end(rank)) end_round(rank);
    }

    bool all_chains_end(int rank) const {
        return ranks_[rank].chains_open == 0 && ranks_[rank].stage == table_.ranks[rank].stages.size();
    }

    // Returns false if the processor must wait.
    bool run_host_step(int rank, const HostStep& host_step) {
        switch (host_step.kind) {
            case HostStep::Kind::stage:
                return host_step.bytes == every_stage ? all_chains_end(rank)
                                                      : ranks_[rank].stage >= host_step.bytes;
            case HostStep::Kind::wait: {
                Stream& stream = streams_[host_step.pair];
                const std::uint64_t end = before(rank, host_step.pair) + host_step.bytes;
                if (stream.received < end) return false;
                stream.taken = std::max(stream.taken, end);
                return true;
            }
            case HostStep::Kind::post:
                return true;
            case HostStep::Kind::work:
                if (!may_take(rank, host_step)) return false;
                ++ranks_[rank].locals;
                return true;
            case HostStep::Kind::send:
                break;
        }
        if (!may_take(rank, host_step)) return false;
        Stream& stream = streams_[host_step.pair];
        stream.sent += host_step.bytes;
        if (stream.carries) return true;
        stream.carries = true;
        const Move move{Step::Kind::receive, host_step.pair};
        make_able(arrival_of(host_step.pair), rank, move);
        return true;
    }

    // Delivers intra-node bytes.
    void arrive(PairIndex pair) {
        Stream& stream = streams_[pair];
        stream.carries = false;
        stream.received = stream.sent;
        notify_processor(table_.traffic[pair].receiver);
    }

    // Returns whether the waits before the task in the list are satisfied; reports a violation if not.
    bool may_take(int rank, const HostStep& host_step) {
        const WaitFacts* missing = unsatisfied(rank, table_.facts.task(rank, host_step.task).waits);
        if (missing == nullptr) return true;
        fail(rank, host_step.task,
             fmt::format("the processor does it before {} is satisfied", describe_wait(rank, *missing)));
        return false;
    }

    void end_round(int rank) {
        ranks_[rank].in_round = false;
        if (++ranks_[rank].round < static_cast<std::uint64_t>(order_.rounds))
            waiting_to_start_.push_back(rank);
    }

    // Returns the first of the list's first `waits` waits that is not satisfied; null if all are satisfied.
    const WaitFacts* unsatisfied(int rank, std::uint32_t waits) {
        Rank& of = ranks_[rank];
        const std::vector<WaitFacts>& all = table_.facts.waits(rank);
        for (; of.waits < waits; ++of.waits) {
            const WaitFacts& wait = all[of.waits];
            const Stream& stream = streams_[wait.pair];
            // Intra-node bytes may reach the memory only when the processor receives them.
            const bool intra_node = table_.facts.intra_node(rank, table_.traffic[wait.pair].sender);
            if ((intra_node ? stream.taken : stream.received) < before(rank, wait.pair) + wait.end)
                return &wait;
        }
        return nullptr;
    }
    std::string describe_wait(int rank, const WaitFacts& wait) const {
        return describe(table_.lists[rank], wait.task);
    }
    // Bytes of the previous collectives.
    std::uint64_t before(int rank, PairIndex pair) const {
        return ranks_[rank].round * table_.facts.bytes(pair);
    }

    void begin_fresh() {
        while (!fault_ && (!fresh_.empty() || !waiting_to_start_.empty())) {
            if (fresh_.empty()) {
                const int rank = waiting_to_start_.back();
                waiting_to_start_.pop_back();
                start(rank);
                continue;
            }
            const std::uint32_t chain = fresh_.back();
            fresh_.pop_back();
            advance_chain(chain);
        }
    }

    // Starts the chain's next step. Signals and satisfied awaits are done at once.
    void advance_chain(std::uint32_t chain) {
        Progress& progress = progress_[chain];
        for (; progress.move < table_.chains[chain].end; ++progress.move) {
            const Move& at = table_.moves[progress.move];
            if (at.kind == Step::Kind::signal) {
                signal(at.index);
            } else if (at.kind == Step::Kind::await) {
                if (!await(chain, at)) return;
            } else {
                begin(chain, at);
                return;
            }
        }
        end_chain(chain);
    }

    void signal(std::uint32_t index) {
        Gate& gate = gates_[index];
        ++gate.signals;
        if (gate.awaited_by == no_chain) return;
        fresh_.push_back(gate.awaited_by);
        gate.awaited_by = no_chain;
    }

    bool await(std::uint32_t chain, const Move& move) {
        Gate& gate = gates_[move.index];
        if (gate.signals >= move.amount) {
            gate.signals -= move.amount;
            return true;
        }
        if (gate.awaited_by != no_chain && gate.awaited_by != chain) {
            fail(chain, fmt::format("and {} await one gate at the same time",
                                    table_.describe(gate.awaited_by, progress_[gate.awaited_by].move)));
            return false;
        }
        gate.awaited_by = chain;
        return false;
    }

    void begin(std::uint32_t chain, const Move& move) {
        const int rank = table_.chains[chain].rank;
        Stream& stream = streams_[move.index];
        const bool send = move.kind == Step::Kind::send;
        std::uint32_t& in_flight = send ? stream.sender : stream.receiver;
        if (in_flight != no_chain) {
            return fail(chain, fmt::format("begins while {} is in flight in the same direction of the same "
                                           "connection",
                                           table_.describe(in_flight, progress_[in_flight].move)));
        }
        const std::uint64_t position = send ? stream.sent : stream.received;
        const std::uint64_t wanted = before(rank, move.index) + move.position;
        if (position != wanted) {
            return fail(chain, fmt::format("begins on the connection after {} bytes, but by the list "
                                           "{} bytes go before it: they would land in another receive",
                                           position, wanted));
        }
        if (send) {
            const WaitFacts* missing = unsatisfied(rank, move.waits);
            if (missing != nullptr) {
                return fail(chain,
                            fmt::format("begins before {} is satisfied", describe_wait(rank, *missing)));
            }
            if (ranks_[rank].locals < move.locals) {
                const TaskIndex local = table_.facts.locals(rank)[ranks_[rank].locals];
                return fail(chain, fmt::format("begins before the processor has done {}",
                                               describe(table_.lists[rank], local)));
            }
        }
        in_flight = chain;
        offer(chain, move, stream);
    }

    // Queues the chain's step if it can move bytes now; else the step waits for the other side.
    void offer(std::uint32_t chain, const Move& move, Stream& stream) {
        const bool send = move.kind == Step::Kind::send;
        const std::uint64_t held = stream.sent - stream.received;
        if (send ? held >= order_.capacity : held == 0) {
            (send ? stream.sender_waits : stream.receiver_waits) = true;
        } else {
            make_able(chain, table_.chains[chain].rank, move);
        }
    }

    void make_able(std::uint32_t event, int rank, const Move& move) {
        (order_.is_late(rank, move) ? late_ : prompt_).push_back(event);
    }

    void move(std::uint32_t chain) {
        Progress& progress = progress_[chain];
        const Move& move = table_.moves[progress.move];
        Stream& stream = streams_[move.index];
        const std::uint64_t held = stream.sent - stream.received;
        const bool send = move.kind == Step::Kind::send;
        std::uint64_t bytes = std::min(move.amount - progress.done, send ? order_.capacity - held : held);
        bytes = std::min(bytes, order_.piece);
        if (order_.late == Order::Late::random) bytes = 1 + random_() % bytes;
        progress.done += bytes;
        (send ? stream.sent : stream.received) += bytes;

        bool& other_waits = send ? stream.receiver_waits : stream.sender_waits;
        if (other_waits) {
            other_waits = false;
            const std::uint32_t other = send ? stream.receiver : stream.sender;
            offer(other, table_.moves[progress_[other].move], stream);
        }
        if (progress.done < move.amount) return offer(chain, move, stream);
        (send ? stream.sender : stream.receiver) = no_chain;
        ++progress.move;
        progress.done = 0;
        fresh_.push_back(chain);
        // The processor may be waiting for this receive.
        const int rank = table_.chains[chain].rank;
        if (!send && table_.ranks[rank].intra_node) notify_processor(rank);
    }

    void end_chain(std::uint32_t chain) {
        const int rank = table_.chains[chain].rank;
        Rank& of = ranks_[rank];
        --of.chains_open;
        if (table_.chains[chain].stage >= 0 && --of.stage_chains_open > 0) return;
        if (of.stage_chains_open == 0) notify_processor(rank);
    }

    void report_stuck() {
        int stuck = 0;
        int shown = -1;
        for (int rank = 0; rank < count(); ++rank) {
            if (complete(rank)) continue;
            ++stuck;
            if (shown < 0) shown = rank;
        }
        if (stuck == 0) return;
        // Prefer a step that waits for another rank to one that waits for a gate.
        std::uint32_t found = no_chain;
        for (std::uint32_t chain = 0; chain < table_.chains.size(); ++chain) {
            if (table_.chains[chain].rank != shown || !in_flight(chain)) continue;
            if (found == no_chain) found = chain;
            if (table_.moves[progress_[chain].move].kind == Step::Kind::send) {
                found = chain;
                break;
            }
        }
        if (found == no_chain) return report_waiting_processor(shown, stuck);
        const Move& at = table_.moves[progress_[found].move];
        const char* why = at.kind == Step::Kind::send      ? "waits for room on its connection"
                          : at.kind == Step::Kind::receive ? "waits for bytes"
                                                           : "waits for signals";
        fail(found, fmt::format("{} forever, in a deadlock of {}", why, counted(stuck, "rank")));
    }

    void report_waiting_processor(int rank, int stuck) {
        const std::vector<HostStep>& host_steps = table_.ranks[rank].host_steps;
        if (ranks_[rank].host_step == host_steps.size())
            return fail(rank, std::nullopt, "its chains never complete");
        const HostStep& host_step = host_steps[ranks_[rank].host_step];
        const bool intra_node =
            host_step.kind == HostStep::Kind::wait && host_step.task < table_.lists[rank].tasks.size();
        const std::string what = intra_node                                ? ""
                                 : host_step.kind == HostStep::Kind::stage ? " for chains"
                                                                           : " for an inter-node peer";
        fail(rank, intra_node ? std::optional<std::size_t>(host_step.task) : std::nullopt,
             fmt::format("the processor waits{} forever, in a deadlock of {}", what, counted(stuck, "rank")));
    }

    bool in_flight(std::uint32_t chain) const {
        if (progress_[chain].move >= table_.chains[chain].end) return false;
        const Move& at = table_.moves[progress_[chain].move];
        if (at.kind == Step::Kind::send) return streams_[at.index].sender == chain;
        if (at.kind == Step::Kind::receive) return streams_[at.index].receiver == chain;
        return at.kind == Step::Kind::await && gates_[at.index].awaited_by == chain;
    }

    const ChainTable& table_;
    const Order& order_;
    std::minstd_rand random_;
    std::vector<Progress> progress_;  // by chain
    std::vector<Stream> streams_;     // by pair
    std::vector<Gate> gates_;
    std::vector<Rank> ranks_;
    std::vector<std::uint32_t> fresh_;  // chains whose next step has not begun
    std::vector<int> waiting_to_start_;
    std::vector<std::uint32_t> prompt_;  // events that can happen now
    std::vector<std::uint32_t> late_;    // events that happen only if there is no prompt one
    std::optional<ChainFault> fault_;
};

}  // namespace

std::optional<ChainFault> run_chains(const ChainTable& table, const Order& order) {
    return ChainsRun(table, order).run();
}

}  // namespace lapwing::checker
