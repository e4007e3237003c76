// Rule chains: one run of the chains of all ranks, in an order that is chosen to do harm.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "task/checker/chains.hpp"

namespace lapwing::checker {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

class Run {
  public:
    Run(const ChainPlan& plan, const Order& order, Findings& findings)
        : plan_(plan),
          order_(order),
          findings_(findings),
          random_(order.which + 1),
          streams_(plan.traffic.size()),
          gates_(plan.gates),
          ranks_(plan.ranks.size()) {
        places_.reserve(plan.lines.size());
        for (const Line& line : plan.lines) places_.push_back({line.first, 0});
    }

    void go() {
        for (int rank = 0; rank < count() && !failed_; ++rank) start(rank);
        begin_fresh();
        while (!failed_) {
            std::vector<std::uint32_t>& able = prompt_.empty() ? late_ : prompt_;
            if (able.empty()) break;
            if (order_.late == Order::Late::random) {
                std::swap(able.back(), able[random_() % able.size()]);
            }
            const std::uint32_t event = able.back();
            able.pop_back();
            happen(event);
            begin_fresh();
        }
        if (!failed_) report_stuck();
    }

  private:
    struct Place {
        std::uint32_t move = 0;
        std::uint64_t done = 0;  // bytes of the move
    };
    // One direction of one connection.
    struct Stream {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        std::uint32_t sender = none;  // the line whose step is in flight
        std::uint32_t receiver = none;
        bool sender_sleeps = false;
        bool receiver_sleeps = false;
        // Of intra-node ranks.
        bool carries = false;     // bytes are on their way
        std::uint64_t taken = 0;  // that the receiver's processor has waited for
    };
    struct Gate {
        std::uint64_t signals = 0;
        std::uint32_t awaited_by = none;  // line
    };
    struct Rank {
        std::uint32_t stage = 0;
        bool in_stage = false;          // its chains have been handed over
        std::uint32_t stage_lines = 0;  // that are not complete
        std::uint32_t lines = 0;        // that are not complete, with the receives
        std::uint32_t host_step = 0;    // that the processor takes next
        std::uint32_t locals = 0;       // done
        std::uint32_t waits = 0;        // known to be satisfied
        std::uint64_t round = 0;
        bool in_round = false;
        bool called = false;  // the processor will come
    };

    // What happens, as one number: a line moves bytes; intra-node bytes of a pair arrive; a rank's processor
    // comes.
    std::uint32_t arrival_of(PairIndex pair) const {
        return static_cast<std::uint32_t>(plan_.lines.size()) + pair;
    }
    std::uint32_t processor_of(int rank) const {
        return static_cast<std::uint32_t>(plan_.lines.size() + streams_.size()) +
               static_cast<std::uint32_t>(rank);
    }
    void happen(std::uint32_t event) {
        if (event < arrival_of(0)) return move(event);
        if (event < processor_of(0)) return arrive(event - arrival_of(0));
        const int rank = static_cast<int>(event - processor_of(0));
        ranks_[rank].called = false;
        go_on_by_processor(rank);
    }

    int count() const { return static_cast<int>(ranks_.size()); }
    bool complete(int rank) const { return ranks_[rank].round == static_cast<std::uint64_t>(order_.rounds); }

    void fail(std::uint32_t line, const std::string& why) {
        const std::uint32_t at = places_[line].move;
        fail(plan_.lines[line].rank, plan_.task_of(line, at),
             fmt::format("{} {}", plan_.told(line, at), why));
    }
    void fail(int rank, std::optional<std::size_t> task, const std::string& why) {
        if (failed_) return;
        failed_ = true;
        const std::uint64_t round = ranks_[rank].round;
        const std::string of = round == 0 ? "" : fmt::format("of collective {} in a row, ", round + 1);
        findings_.add(Rule::chains, rank, task, fmt::format("{}{}; {}", of, why, order_.told()));
    }

    void start(int rank) {
        Rank& of = ranks_[rank];
        const RankPlan& plan = plan_.ranks[rank];
        of.stage = of.host_step = 0;
        of.in_stage = false;
        of.in_round = true;
        of.locals = 0;
        of.waits = 0;
        of.lines = plan.end - plan.first;
        launch(plan.first, plan.end);
        go_on_by_processor(rank);
    }

    // The first one begins first.
    void launch(std::uint32_t first, std::uint32_t end) {
        for (std::uint32_t line = end; line-- > first;) {
            places_[line] = {plan_.lines[line].first, 0};
            fresh_.push_back(line);
        }
    }

    // Something has changed that the processor may wait for. It comes at once, or late.
    void call_processor(int rank) {
        if (!processors_are_late()) return go_on_by_processor(rank);
        if (ranks_[rank].called) return;
        ranks_[rank].called = true;
        late_.push_back(processor_of(rank));
    }

    bool processors_are_late() const { return order_.late == Order::Late::processors; }

    // As far as it goes: what the processor does, and the stages.
    void go_on_by_processor(int rank) {
        Rank& of = ranks_[rank];
        const RankPlan& plan = plan_.ranks[rank];
        // What comes from a rank that is ahead is for the next round.
        if (!of.in_round) return;
        while (!failed_) {
            if (of.in_stage && of.stage_lines == 0) {
                of.in_stage = false;
                ++of.stage;
            } else if (!of.in_stage && of.stage < plan.stages.size() &&
                       of.host_step >= plan.stages[of.stage].host_steps) {
                const StagePlan& stage = plan.stages[of.stage];
                of.stage_lines = stage.end - stage.first;
                of.lines += of.stage_lines;
                of.in_stage = true;
                launch(stage.first, stage.end);
                // The chains may be ahead of it from here on.
                if (processors_are_late()) return call_processor(rank);
            } else if (of.host_step < plan.host_steps.size() &&
                       run_host_step(rank, plan.host_steps[of.host_step])) {
                ++of.host_step;
            } else {
                break;
            }
        }
        if (!failed_ && of.host_step == plan.host_steps.size() && all_chains_end(rank)) end_round(rank);
    }

    bool all_chains_end(int rank) const {
        return ranks_[rank].lines == 0 && ranks_[rank].stage == plan_.ranks[rank].stages.size();
    }

    // False when it must wait.
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
        (is_late(rank, move) ? late_ : prompt_).push_back(arrival_of(host_step.pair));
        return true;
    }

    // Intra-node bytes that have been sent.
    void arrive(PairIndex pair) {
        Stream& stream = streams_[pair];
        stream.carries = false;
        stream.received = stream.sent;
        call_processor(plan_.traffic[pair].receiver);
    }

    // Whether the waits that stand before it in the list are satisfied.
    bool may_take(int rank, const HostStep& host_step) {
        const WaitFacts* missing = unsatisfied(rank, plan_.facts.task(rank, host_step.task).waits);
        if (missing == nullptr) return true;
        fail(rank, host_step.task,
             fmt::format("the processor does it before {} is satisfied", told_wait(rank, *missing)));
        return false;
    }

    void end_round(int rank) {
        ranks_[rank].in_round = false;
        if (++ranks_[rank].round < static_cast<std::uint64_t>(order_.rounds))
            waiting_to_start_.push_back(rank);
    }

    // The first of the list's first `waits` waits that is not satisfied; null when they all are.
    const WaitFacts* unsatisfied(int rank, std::uint32_t waits) {
        Rank& of = ranks_[rank];
        const std::vector<WaitFacts>& all = plan_.facts.waits(rank);
        for (; of.waits < waits; ++of.waits) {
            const WaitFacts& wait = all[of.waits];
            const Stream& stream = streams_[wait.pair];
            // What is intra-node may come into the memory no earlier than the processor takes it in.
            const bool intra_node = plan_.facts.intra_node(rank, plan_.traffic[wait.pair].sender);
            if ((intra_node ? stream.taken : stream.received) < before(rank, wait.pair) + wait.end)
                return &wait;
        }
        return nullptr;
    }
    std::string told_wait(int rank, const WaitFacts& wait) const {
        return told(plan_.lists[rank], wait.task);
    }
    // Bytes of the collectives before this one.
    std::uint64_t before(int rank, PairIndex pair) const {
        return ranks_[rank].round * plan_.facts.bytes(pair);
    }

    void begin_fresh() {
        while (!failed_ && (!fresh_.empty() || !waiting_to_start_.empty())) {
            if (fresh_.empty()) {
                const int rank = waiting_to_start_.back();
                waiting_to_start_.pop_back();
                start(rank);
                continue;
            }
            const std::uint32_t line = fresh_.back();
            fresh_.pop_back();
            go_on(line);
        }
    }

    // From a step that has just become the line's first one; all that takes no time happens at once.
    void go_on(std::uint32_t line) {
        Place& place = places_[line];
        for (; place.move < plan_.lines[line].end; ++place.move) {
            const Move& at = plan_.moves[place.move];
            if (at.kind == Step::Kind::signal) {
                signal(at.place);
            } else if (at.kind == Step::Kind::await) {
                if (!await(line, at)) return;
            } else {
                begin(line, at);
                return;
            }
        }
        end_line(line);
    }

    void signal(std::uint32_t index) {
        Gate& gate = gates_[index];
        ++gate.signals;
        if (gate.awaited_by == none) return;
        fresh_.push_back(gate.awaited_by);
        gate.awaited_by = none;
    }

    bool await(std::uint32_t line, const Move& move) {
        Gate& gate = gates_[move.place];
        if (gate.signals >= move.amount) {
            gate.signals -= move.amount;
            return true;
        }
        if (gate.awaited_by != none && gate.awaited_by != line) {
            fail(line, fmt::format("and {} await one gate at the same time",
                                   plan_.told(gate.awaited_by, places_[gate.awaited_by].move)));
            return false;
        }
        gate.awaited_by = line;
        return false;
    }

    void begin(std::uint32_t line, const Move& move) {
        const int rank = plan_.lines[line].rank;
        Stream& stream = streams_[move.place];
        const bool send = move.kind == Step::Kind::send;
        std::uint32_t& in_flight = send ? stream.sender : stream.receiver;
        if (in_flight != none) {
            return fail(line, fmt::format("begins while {} is in flight in the same direction of the same "
                                          "connection",
                                          plan_.told(in_flight, places_[in_flight].move)));
        }
        const std::uint64_t stands = send ? stream.sent : stream.received;
        const std::uint64_t wanted = before(rank, move.place) + move.position;
        if (stands != wanted) {
            return fail(line, fmt::format("takes its turn on the connection after {} bytes, but by the list "
                                          "{} bytes go before it: they would land in another receive",
                                          stands, wanted));
        }
        if (send) {
            const WaitFacts* missing = unsatisfied(rank, move.waits);
            if (missing != nullptr) {
                return fail(line, fmt::format("begins before {} is satisfied", told_wait(rank, *missing)));
            }
            if (ranks_[rank].locals < move.locals) {
                const TaskIndex local = plan_.facts.locals(rank)[ranks_[rank].locals];
                return fail(line, fmt::format("begins before the processor has done {}",
                                              told(plan_.lists[rank], local)));
            }
        }
        in_flight = line;
        offer(line, move, stream);
    }

    // The line's step can move bytes now, or sleeps until it can.
    void offer(std::uint32_t line, const Move& move, Stream& stream) {
        const bool send = move.kind == Step::Kind::send;
        const std::uint64_t held = stream.sent - stream.received;
        if (send ? held >= order_.capacity : held == 0) {
            (send ? stream.sender_sleeps : stream.receiver_sleeps) = true;
        } else {
            (is_late(plan_.lines[line].rank, move) ? late_ : prompt_).push_back(line);
        }
    }

    bool is_late(int rank, const Move& move) const {
        switch (order_.late) {
            case Order::Late::nothing:
            case Order::Late::processors:
            case Order::Late::random:
                return false;
            case Order::Late::receives:
                return move.kind == Step::Kind::receive;
            case Order::Late::connection:
                return move.kind == Step::Kind::receive && move.place == order_.which;
            case Order::Late::rank:
                return rank == static_cast<int>(order_.which);
            case Order::Late::others:
                return rank != static_cast<int>(order_.which);
        }
        return false;
    }

    void move(std::uint32_t line) {
        Place& place = places_[line];
        const Move& move = plan_.moves[place.move];
        Stream& stream = streams_[move.place];
        const std::uint64_t held = stream.sent - stream.received;
        const bool send = move.kind == Step::Kind::send;
        std::uint64_t bytes = std::min(move.amount - place.done, send ? order_.capacity - held : held);
        bytes = std::min(bytes, order_.piece);
        if (order_.late == Order::Late::random) bytes = 1 + random_() % bytes;
        place.done += bytes;
        (send ? stream.sent : stream.received) += bytes;

        bool& other_sleeps = send ? stream.receiver_sleeps : stream.sender_sleeps;
        if (other_sleeps) {
            other_sleeps = false;
            const std::uint32_t other = send ? stream.receiver : stream.sender;
            offer(other, plan_.moves[places_[other].move], stream);
        }
        if (place.done < move.amount) return offer(line, move, stream);
        (send ? stream.sender : stream.receiver) = none;
        ++place.move;
        place.done = 0;
        fresh_.push_back(line);
        // The processor may have waited for it alone.
        const int rank = plan_.lines[line].rank;
        if (!send && plan_.ranks[rank].intra_node) call_processor(rank);
    }

    void end_line(std::uint32_t line) {
        const int rank = plan_.lines[line].rank;
        Rank& of = ranks_[rank];
        --of.lines;
        if (plan_.lines[line].stage >= 0 && --of.stage_lines > 0) return;
        if (of.stage_lines == 0) call_processor(rank);
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
        // A step that waits for another rank says more than one that waits for a gate.
        std::uint32_t found = none;
        for (std::uint32_t line = 0; line < plan_.lines.size(); ++line) {
            if (plan_.lines[line].rank != shown || !in_flight(line)) continue;
            if (found == none) found = line;
            if (plan_.moves[places_[line].move].kind == Step::Kind::send) {
                found = line;
                break;
            }
        }
        if (found == none) return report_processor(shown, stuck);
        const Move& at = plan_.moves[places_[found].move];
        const char* why = at.kind == Step::Kind::send      ? "waits for room on its connection"
                          : at.kind == Step::Kind::receive ? "waits for bytes"
                                                           : "waits for signals";
        fail(found, fmt::format("{} forever, in a deadlock of {} rank{}", why, stuck, stuck == 1 ? "" : "s"));
    }

    void report_processor(int rank, int stuck) {
        const std::vector<HostStep>& host_steps = plan_.ranks[rank].host_steps;
        if (ranks_[rank].host_step == host_steps.size())
            return fail(rank, std::nullopt, "its chains come to no end");
        const HostStep& host_step = host_steps[ranks_[rank].host_step];
        const bool intra_node =
            host_step.kind == HostStep::Kind::wait && host_step.task < plan_.lists[rank].tasks.size();
        const std::string what = intra_node                                ? ""
                                 : host_step.kind == HostStep::Kind::stage ? " for chains"
                                                                           : " for an inter-node peer";
        fail(rank, intra_node ? std::optional<std::size_t>(host_step.task) : std::nullopt,
             fmt::format("the processor waits{} forever, in a deadlock of {} rank{}", what, stuck,
                         stuck == 1 ? "" : "s"));
    }

    bool in_flight(std::uint32_t line) const {
        if (places_[line].move >= plan_.lines[line].end) return false;
        const Move& at = plan_.moves[places_[line].move];
        if (at.kind == Step::Kind::send) return streams_[at.place].sender == line;
        if (at.kind == Step::Kind::receive) return streams_[at.place].receiver == line;
        return at.kind == Step::Kind::await && gates_[at.place].awaited_by == line;
    }

    const ChainPlan& plan_;
    const Order& order_;
    Findings& findings_;
    std::minstd_rand random_;
    std::vector<Place> places_;    // by line
    std::vector<Stream> streams_;  // by pair
    std::vector<Gate> gates_;
    std::vector<Rank> ranks_;
    std::vector<std::uint32_t> fresh_;  // lines whose step has just become the first
    std::vector<int> waiting_to_start_;
    std::vector<std::uint32_t> prompt_;  // lines that can move bytes
    std::vector<std::uint32_t> late_;    // of those, the ones that shall be late
    bool failed_ = false;
};

}  // namespace

std::string Order::told() const {
    std::string text =
        capacity == std::numeric_limits<std::uint64_t>::max()
            ? std::string("when connections hold any number of bytes")
            : fmt::format("when connections hold {} byte{}", capacity, capacity == 1 ? "" : "s");
    switch (late) {
        case Late::nothing:
            return text;
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

void run_chains(const ChainPlan& plan, const Order& order, Findings& findings) {
    Run(plan, order, findings).go();
}

}  // namespace lapwing::checker
