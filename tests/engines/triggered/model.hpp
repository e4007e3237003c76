// A model of the network that runs schedules of the triggered engine: it does everything as late, and in as
// strange an order, as it may. The lists share a channel, or each is a persistent list, which each rank
// starts in an order of its own. The bytes are compared with what the problems promise. Between two runs of a
// persistent list nothing may land in its buffers.
#pragma once

#include "engines/expected.hpp"
#include "engines/triggered/ledger.hpp"
#include "engines/triggered/schedule.hpp"
#include "engines/triggered/works.hpp"
#include "support/unit.hpp"
#include "task/list.hpp"

namespace lapwing::triggered::testing_triggered {

using namespace testing_engines;

constexpr std::uint64_t counts = std::uint64_t{1} << 48;  // the range of a counter of the card
constexpr std::uint64_t max_in_run = 32;                  // messages of a pair

struct Job {
    ListSet lists;
    Problem problem;
};

enum class Fault {
    none,
    threshold_low,         // one arrival or gate too few
    threshold_high,        // far too many
    no_credit,             // writes do not wait for the peer
    credit_early,          // shared: given when the run begins; persistent: when the run before ends
    no_credit_at_restart,  // persistent: pairs that move no bytes restart their counts without a credit
    same_slot,             // shared: the slots are not used in turn
    wrong_target,          // a write lands one byte further
    in_slot_order,         // persistent: messages land where they would in slots
    no_restart,            // counters run over their maximum
    no_pause,              // runs begin and send while a counter has to restart
    no_level,              // works that wait for arrivals begin at once
    stage_early,           // one arrival too few before a stage
    stage_overtaken,       // writes do not wait for the stages before them
    one_result,            // all reductions have the same memory
};

using Events = std::vector<std::function<void()>>;

// Messages between two ranks arrive in their order; others in any.
class Wires {
  public:
    std::deque<std::function<void()>>& operator()(int from, int to) { return wires_[{from, to}]; }
    void offer(Events& events) {
        for (auto& [pair, messages] : wires_)
            if (!messages.empty())
                events.push_back([&wire = messages] {
                    auto message = std::move(wire.front());
                    wire.pop_front();
                    message();
                });
    }

  private:
    std::map<std::pair<int, int>, std::deque<std::function<void()>>> wires_;
};

class Model {
  public:
    // Credits::at_end: one channel has the runs of all jobs, in turn, `rounds` times. Credits::at_begin: each
    // job is a persistent list with a channel of its own.
    Model(const std::vector<Job>& jobs, Credits credits, int rounds, unsigned seed, std::uint64_t first,
          Fault fault)
        : persistent_(credits == Credits::at_begin), rounds_(rounds), random_(seed), fault_(fault) {
        // As close to the maximum as the runs in flight allow.
        const std::uint64_t limit = fault == Fault::no_restart ? UINT64_MAX : counts - max_in_run;
        const std::size_t channels = persistent_ ? jobs.size() : 1;
        for (std::size_t channel = 0; channel < channels; ++channel)
            for (int rank = 0; rank < jobs.front().problem.ranks; ++rank) {
                std::vector<const Job*> of_node;
                for (std::size_t job = 0; job < jobs.size(); ++job)
                    if (job % channels == channel) of_node.push_back(&jobs[job]);
                nodes_[{channel, rank}] = std::make_unique<Node>(*this, of_node, channel, rank,
                                                                 Ledger(credits, limit, first), first);
            }
    }

    // Empty, or what went wrong.
    std::string run() {
        for (;;) {
            Events events;
            for (const auto& [at, node] : nodes_) node->offer(events);
            wires_.offer(events);
            if (!wrong_.empty()) return wrong_;
            if (events.empty()) break;
            events[random_() % events.size()]();
        }
        for (const auto& [at, node] : nodes_)
            if (!node->over()) return "nothing can happen any more";
        return "";
    }

  private:
    // One slot of a pair, at one rank.
    struct Slot {
        Bytes memory;
        std::uint64_t landed = 0;
        std::uint64_t credits = 0;
        // Runs that use the slot: to receive, and to send.
        std::uint64_t begun = 0, over = 0;
        std::uint64_t sent = 0;
    };

    struct ModelRun {
        int number = 0;
        const Problem* problem = nullptr;
        Schedule schedule;
        Uses uses;
        bool sends = false;
        std::vector<Work> pending;
        std::vector<std::uint64_t> gates;
        std::uint64_t writes_left = 0;
        std::uint64_t stages_over = 0;
        Bytes reduced, in, out;
        std::map<std::int32_t, std::uint64_t> use_out;  // runs that had used the slot before
    };

    // One rank's part in one channel.
    class Node : public SlotCounters {
      public:
        Node(Model& model, const std::vector<const Job*>& jobs, std::size_t channel, int rank,
             const Ledger& ledger, std::uint64_t first)
            : model_(model), channel_(channel), rank_(rank), ledger_(ledger) {
            for (const Job* const job : jobs) {
                const List& list = job->lists.lists[static_cast<std::size_t>(rank)];
                const Landing landing = model.persistent_ ? Landing::direct : Landing::slots;
                jobs_.emplace_back(&job->problem, schedule(list, landing));
                for (const Exchange& exchange : jobs_.back().second.exchanges) {
                    auto& slots = slots_[exchange.peer];
                    slots.resize(static_cast<std::size_t>(ledger.slots()));
                    for (Slot& slot : slots) {
                        slot.landed = slot.credits = first;
                        slot.memory.resize(std::max(slot.memory.size(), exchange.bytes_received + 1));
                    }
                }
            }
        }

        std::uint64_t read(const SlotCounter& counter) override { return value(counter); }
        void set_to_zero(const SlotCounter& counter) override { value(counter) = 0; }

        bool over() const { return begun_ == runs_in_all() && runs_.empty(); }

        void offer(Events& events) {
            const bool pauses = model_.fault_ != Fault::no_pause;
            const bool all_send = runs_.empty() || runs_.back()->sends;
            if (begun_ < runs_in_all() && runs_.size() < (model_.persistent_ ? 1U : 4U) && all_send &&
                (!pauses || ledger_.can_begin(next().second)))
                events.push_back([this] { begin(); });
            if (!all_send && (!pauses || ledger_.can_send(runs_.back()->schedule, *this)))
                events.push_back([this] { send(*runs_.back()); });
            for (auto& one : runs_) {
                ModelRun& run = *one;
                if (!run.sends) continue;
                for (std::size_t i = 0; i < run.pending.size(); ++i)
                    if (is_first(run, i)) events.push_back([this, &run, i] { fire(run, i); });
                if (stage_is_due(run)) events.push_back([this, &run] { do_stage(run); });
                if (complete(run)) events.push_back([this, &run] { end(run); });
            }
        }

      private:
        std::size_t runs_in_all() const { return jobs_.size() * static_cast<std::size_t>(model_.rounds_); }
        const std::pair<const Problem*, Schedule>& next() const { return jobs_[begun_ % jobs_.size()]; }
        Slot& slot(std::int32_t peer, int number) {
            return slots_.at(peer)[static_cast<std::size_t>(number)];
        }
        std::uint64_t& value(const SlotCounter& counter) {
            Slot& of = slot(counter.peer, counter.slot);
            return counter.kind == Counter::Kind::credit ? of.credits : of.landed;
        }
        bool has_happened(const ModelRun& run, const Trigger& trigger) {
            const std::uint64_t at = Ledger::threshold(run.uses, trigger);
            switch (trigger.counter.kind) {
                case Counter::Kind::none:
                    return true;
                case Counter::Kind::gate:
                    return run.gates[static_cast<std::size_t>(trigger.counter.which)] >= at;
                case Counter::Kind::stage:
                    return run.stages_over >= at;
                case Counter::Kind::credit:
                    return slot(trigger.counter.which, run.uses.at(trigger.counter.which).slot_out).credits >=
                           at;
                case Counter::Kind::landed:
                    break;
            }
            return slot(trigger.counter.which, run.uses.at(trigger.counter.which).slot_in).landed >= at;
        }
        // Of works with one trigger lower thresholds go first, and of equal ones the first queued.
        bool is_first(const ModelRun& run, std::size_t at) {
            const Trigger& trigger = run.pending[at].trigger;
            if (!has_happened(run, trigger)) return false;
            for (std::size_t i = 0; i < run.pending.size(); ++i) {
                const Trigger& other = run.pending[i].trigger;
                if (i == at || !(other.counter == trigger.counter)) continue;
                if (other.threshold < trigger.threshold || (other.threshold == trigger.threshold && i < at))
                    return false;
            }
            return true;
        }
        static const Exchange& exchange(const ModelRun& run, std::int32_t peer) {
            return *std::find_if(run.schedule.exchanges.begin(), run.schedule.exchanges.end(),
                                 [&](const Exchange& one) { return one.peer == peer; });
        }

        void begin() {
            const Fault fault = model_.fault_;
            ModelRun& run = *runs_.emplace_back(std::make_unique<ModelRun>());
            std::tie(run.problem, run.schedule) = next();
            run.number = static_cast<int>(begun_++);
            run.uses = ledger_.begin(run.schedule, *this);
            for (auto& [peer, use] : run.uses) {
                if (fault == Fault::same_slot) use.slot_in = 0;
                if (fault == Fault::no_credit_at_restart && exchange(run, peer).bytes_received == 0)
                    use.gives_credit = false;
                if (use.receives) ++slot(peer, use.slot_in).begun;
            }
            run.in = in_of(*run.problem, rank_, run.number);
            run.out = out_before(*run.problem, rank_, run.number);
            const bool early = fault == Fault::credit_early && (!model_.persistent_ || run.number > 0);
            if (model_.persistent_ != early) give_credits(run);
        }

        void send(ModelRun& run) {
            const Fault fault = model_.fault_;
            run.sends = true;
            ledger_.send(run.schedule, run.uses, *this);
            for (auto& [peer, use] : run.uses) {
                if (!use.sends) continue;
                if (fault == Fault::same_slot) use.slot_out = 0;
                if (fault == Fault::no_credit_at_restart && exchange(run, peer).bytes_sent == 0)
                    use.ready = true;
                run.use_out[peer] = slot(peer, use.slot_out).sent++;
            }
            run.pending = works(run.schedule, [&](std::int32_t peer) {
                return fault != Fault::no_credit && !run.uses.at(peer).ready;
            });
            run.gates.resize(gates_of(run.pending));
            run.reduced.resize(run.schedule.reduced_bytes);
            run.writes_left = run.schedule.writes.size();
            plant(run);
            // What waits for nothing happens while it is queued.
            for (std::size_t i = 0; i < run.pending.size();)
                if (run.pending[i].trigger.counter.kind == Counter::Kind::none)
                    fire(run, i);
                else
                    ++i;
        }

        void plant(ModelRun& run) {
            const Fault fault = model_.fault_;
            std::vector<Work*> waiting;
            for (Work& work : run.pending) {
                const auto kind = work.trigger.counter.kind;
                if (fault == Fault::stage_overtaken && kind == Counter::Kind::stage) work.trigger = {};
                if (kind == Counter::Kind::landed || kind == Counter::Kind::gate ||
                    kind == Counter::Kind::stage)
                    waiting.push_back(&work);
            }
            if (fault == Fault::stage_early)
                for (Stage& stage : run.schedule.stages)
                    if (!stage.arrivals.empty()) --stage.arrivals.front().messages;
            if (waiting.empty()) return;
            Work& work = *waiting[model_.random_() % waiting.size()];
            if (fault == Fault::threshold_low) --work.trigger.threshold;
            if (fault == Fault::threshold_high) work.trigger.threshold += 1000;
            if (fault == Fault::no_level) work.trigger = {};
        }

        void give_credits(const ModelRun& run) {
            for (const auto& [peer, use] : run.uses) {
                if (!use.gives_credit) continue;
                model_.wires_(-1 - rank_, peer).push_back([this, peer = peer, number = use.slot_in] {
                    Slot& there = model_.node(channel_, peer).slot(rank_, number);
                    there.credits = (there.credits + 1) % counts;
                });
            }
        }

        void fire(ModelRun& run, std::size_t at) {
            const Work work = run.pending[at];
            run.pending.erase(run.pending.begin() + static_cast<std::ptrdiff_t>(at));
            if (work.kind == Work::Kind::add) {
                ++run.gates[static_cast<std::size_t>(work.gate)];
                return;
            }
            const Write& write = run.schedule.writes[work.write];
            // The bytes are read as late as possible.
            model_.wires_(rank_, write.peer).push_back([this, &run, &write] {
                model_.node(channel_, write.peer)
                    .land(rank_, run.uses.at(write.peer).slot_out, run.use_out.at(write.peer), write,
                          at_place(run, write.source));
                --run.writes_left;
            });
        }

        // `use`: so many runs have used the slot before.
        void land(int sender, int number, std::uint64_t use, const Write& write, const std::byte* bytes) {
            Slot& to = slot(sender, number);
            const bool is_free = to.over == use && (!model_.persistent_ || to.begun > use);
            if (!is_free && (write.bytes > 0 || !model_.persistent_)) {
                model_.wrong_ = "a write lands in memory that is in use, or the program's";
                return;
            }
            Bytes* memory = &to.memory;
            std::uint64_t offset = write.target;
            if (model_.persistent_ && write.bytes > 0) {
                ModelRun& run = *runs_.front();
                const Location& place = exchange(run, sender).landings.at(write.message).place;
                if (place.memory == Location::Memory::out) memory = &run.out;
                if (model_.fault_ != Fault::in_slot_order) offset = place.offset + write.within;
            }
            if (model_.fault_ == Fault::wrong_target) ++offset;
            if (offset + write.bytes > memory->size()) {
                model_.wrong_ = "a write lands outside of the buffer";
                return;
            }
            std::copy_n(bytes, write.bytes, memory->begin() + static_cast<std::ptrdiff_t>(offset));
            if (write.counts) to.landed = (to.landed + 1) % counts;
        }

        const std::byte* at_place(const ModelRun& run, const Location& place) {
            switch (place.memory) {
                case Location::Memory::in:
                    return run.in.data() + place.offset;
                case Location::Memory::out:
                    return run.out.data() + place.offset;
                case Location::Memory::reduced:
                    return run.reduced.data() + place_of_result(run, place.offset);
                case Location::Memory::slot:
                    break;
            }
            return slot(place.peer, run.uses.at(place.peer).slot_in).memory.data() + place.offset;
        }
        std::uint64_t place_of_result(const ModelRun& run, std::uint64_t offset) const {
            if (model_.fault_ != Fault::one_result) return offset;
            for (const Stage& stage : run.schedule.stages)
                for (const Reduction& one : stage.reductions)
                    if (one.result > 0) return offset % one.result;
            return offset;
        }

        bool stage_is_due(const ModelRun& run) {
            if (run.stages_over == run.schedule.stages.size()) return false;
            const auto& arrivals = run.schedule.stages[run.stages_over].arrivals;
            return std::all_of(arrivals.begin(), arrivals.end(), [&](const Arrival& one) {
                return has_happened(run, {{Counter::Kind::landed, one.peer}, one.messages});
            });
        }

        void do_stage(ModelRun& run) {
            const auto joined = [&](const std::vector<Piece>& pieces) {
                Bytes bytes;
                for (const Piece& piece : pieces) {
                    const std::byte* const from = at_place(run, piece.place);
                    bytes.insert(bytes.end(), from, from + piece.bytes);
                }
                return bytes;
            };
            for (const Reduction& one : run.schedule.stages[run.stages_over].reductions) {
                const Bytes source = joined(one.source);
                Bytes result = joined(one.target);
                if (one.op == Operator::user)
                    Composition().reduce(result.data(), source.data(), one.bytes);
                else
                    reduce(one.op, one.type, result.data(), source.data(), one.bytes);
                std::copy(
                    result.begin(), result.end(),
                    run.reduced.begin() + static_cast<std::ptrdiff_t>(place_of_result(run, one.result)));
            }
            ++run.stages_over;
        }

        bool complete(const ModelRun& run) {
            if (run.writes_left > 0 || run.stages_over < run.schedule.stages.size()) return false;
            for (const auto& [peer, use] : run.uses)
                if (use.receives && slot(peer, use.slot_in).landed < use.landed_after) return false;
            return true;
        }

        void end(ModelRun& run) {
            for (const auto& [at, other] : model_.nodes_)
                if (run.problem->collective == Collective::barrier && at.first == channel_ &&
                    other->begun_ <= static_cast<std::size_t>(run.number))
                    model_.wrong_ = "a rank leaves a barrier that another has not entered";
            const Bytes before = run.out;
            for (const Move& move : run.schedule.moves) {
                const std::byte* const from = move.source.memory == Location::Memory::out
                                                  ? before.data() + move.source.offset
                                                  : at_place(run, move.source);
                std::copy_n(from, move.bytes, run.out.begin() + static_cast<std::ptrdiff_t>(move.target));
            }
            if (run.out != out_after(*run.problem, rank_, run.number, run.out)) model_.wrong_ = "wrong bytes";
            ledger_.end(run.uses, *this);
            for (const auto& [peer, use] : run.uses)
                if (use.receives) ++slot(peer, use.slot_in).over;
            const bool early = model_.fault_ == Fault::credit_early;
            if (model_.persistent_ ? early && begun_ < runs_in_all() : !early) give_credits(run);
            std::erase_if(runs_, [&](const auto& one) { return one.get() == &run; });
        }

        Model& model_;
        const std::size_t channel_;
        const int rank_;
        std::vector<std::pair<const Problem*, Schedule>> jobs_;
        Ledger ledger_;
        std::map<int, std::vector<Slot>> slots_;  // by peer
        std::vector<std::unique_ptr<ModelRun>> runs_;
        std::size_t begun_ = 0;
    };

    Node& node(std::size_t channel, int rank) { return *nodes_.at({channel, rank}); }

    const bool persistent_;
    const int rounds_;
    std::mt19937 random_;
    const Fault fault_;
    std::string wrong_;
    std::map<std::pair<std::size_t, int>, std::unique_ptr<Node>> nodes_;  // by channel and rank
    Wires wires_;
};

}  // namespace lapwing::triggered::testing_triggered
