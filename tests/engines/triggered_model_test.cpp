// The schedules of the triggered engine, run by a model of a network that does everything as late, and in as
// strange an order, as it may. The bytes are compared with what the problems promise; faults that are planted
// into works, credits, slots and counters must be found.
#include <gtest/gtest.h>

#include <memory>

#include "engines/triggered/ledger.hpp"
#include "engines/triggered_model.hpp"

namespace lapwing::triggered {
namespace {

using namespace testing_triggered;

// A fault planted into a job.
enum class Fault {
    none,
    threshold_low,     // one arrival or gate too few
    threshold_high,    // one too many
    no_credit,         // writes do not wait for the peer
    credit_early,      // given when the run begins
    same_slot,         // the slots are not used in turn
    wrong_target,      // a write lands one byte further
    no_new_beginning,  // counters run over their end
    no_pause,          // runs begin while a counter has to begin anew
    no_level,          // what waits for arrivals begins at once
    stage_early,       // one arrival too few before a stage
    stage_overtaken,   // writes do not wait for the stages before them
    one_result,        // all reductions have the same memory
};

class Model {
  public:
    Model(const std::vector<Job>& jobs, unsigned seed, std::uint64_t first, Fault fault)
        : jobs_(jobs), ranks_(jobs.front().problem.ranks), random_(seed), fault_(fault) {
        // As close to the end as the runs in flight allow.
        const std::uint64_t limit = fault == Fault::no_new_beginning ? UINT64_MAX : counts - max_in_run;
        for (int rank = 0; rank < ranks_; ++rank) nodes_.emplace_back(*this, rank, limit, first);
    }

    // Empty, or what went wrong.
    std::string run() {
        while (wrong_.empty() && !over()) {
            // What may happen now.
            Events events;
            for (Node& node : nodes_) node.offer(events);
            wires_.offer(events);
            if (events.empty()) return "nothing can happen any more";
            events[random_() % events.size()]();
        }
        return wrong_;
    }

  private:
    // Of one direction of a pair, at its receiver and at its sender.
    struct End {
        Bytes slots[2];
        std::uint64_t landed[2] = {};
        std::uint64_t credits[2] = {};
        std::uint64_t taken[2] = {};    // uses of a slot by the receiver that are over
        std::uint64_t written[2] = {};  // the use that has last written there
    };

    struct Run {
        std::size_t number;
        const Job* job;
        Schedule schedule;
        Uses uses;
        std::vector<Work> pending;
        std::vector<std::uint64_t> gates;
        std::uint64_t writes_left = 0;
        std::uint64_t stages_over = 0;
        Bytes reduced;
        Bytes in;
        Bytes out;
        std::map<std::int32_t, std::uint64_t> use_out;  // how many runs had used the slot
    };

    class Node : public SlotCounters {
      public:
        Node(Model& model, int rank, std::uint64_t limit, std::uint64_t first)
            : model_(model), rank_(rank), ledger_(limit, first) {
            for (int peer = 0; peer < model.ranks_; ++peer) {
                End& end = ends_[peer];
                for (const int slot : {0, 1}) {
                    end.landed[slot] = end.credits[slot] = first;
                    end.slots[slot].resize(1 << 16);
                }
            }
        }

        std::uint64_t read(const SlotCounter& counter) override { return *value(counter); }
        void set_to_zero(const SlotCounter& counter) override { *value(counter) = 0; }

        bool over() const { return begun_ == model_.jobs_.size() && runs_.empty(); }
        std::size_t begun() const { return begun_; }

        void offer(Events& events) {
            if (begun_ < model_.jobs_.size() && runs_.size() < 4 && can_begin())
                events.push_back([this] { begin(); });
            for (auto& run : runs_) {
                const auto due = first_due(*run);
                for (const std::size_t at : due) events.push_back([this, &run = *run, at] { fire(run, at); });
                if (stage_is_due(*run)) events.push_back([this, &run = *run] { do_stage(run); });
                if (complete(*run)) events.push_back([this, &run = *run] { end(run); });
            }
        }

      private:
        friend class Model;

        std::uint64_t* value(const SlotCounter& counter) {
            End& end = ends_.at(counter.peer);
            return counter.kind == Counter::Kind::credit ? &end.credits[counter.slot]
                                                         : &end.landed[counter.slot];
        }
        std::uint64_t value(const Run& run, const Counter& counter) const {
            if (counter.kind == Counter::Kind::none) return 0;
            if (counter.kind == Counter::Kind::gate)
                return run.gates[static_cast<std::size_t>(counter.which)];
            if (counter.kind == Counter::Kind::stage) return run.stages_over;
            const End& end = ends_.at(counter.which);
            const Use& use = run.uses.at(counter.which);
            return counter.kind == Counter::Kind::credit ? end.credits[use.slot_out]
                                                         : end.landed[use.slot_in];
        }

        bool can_begin() {
            if (model_.fault_ == Fault::no_pause) return true;
            const List& list = model_.jobs_[begun_].lists.lists[static_cast<std::size_t>(rank_)];
            return ledger_.can_begin(schedule(list), *this);
        }

        void begin() {
            const std::size_t number = begun_++;
            auto run = std::make_unique<Run>();
            run->number = number;
            run->job = &model_.jobs_[number];
            const auto at = static_cast<std::size_t>(rank_);
            run->schedule = schedule(run->job->lists.lists[at]);
            run->uses = ledger_.begin(run->schedule, *this);
            if (model_.fault_ == Fault::same_slot)
                for (auto& [peer, use] : run->uses) use.slot_in = use.slot_out = 0;
            run->pending = works(run->schedule, [&](std::int32_t peer) {
                return model_.fault_ != Fault::no_credit && !run->uses.at(peer).ready;
            });
            run->gates.resize(gates_of(run->pending));
            for (const auto& [peer, use] : run->uses)
                if (use.sends) run->use_out[peer] = uses_out_[peer][use.slot_out]++;
            run->reduced.resize(run->schedule.reduced_bytes);
            plant(*run);
            run->writes_left = run->schedule.writes.size();
            run->in = in_of(run->job->problem, rank_, static_cast<int>(number));
            run->out = out_before(run->job->problem, rank_, static_cast<int>(number));
            if (model_.fault_ == Fault::credit_early) credit(*run);
            runs_.push_back(std::move(run));
            // What waits for nothing happens while it is queued.
            Run& last = *runs_.back();
            for (std::size_t i = 0; i < last.pending.size();) {
                if (last.pending[i].trigger.counter.kind == Counter::Kind::none)
                    fire(last, i);
                else
                    ++i;
            }
        }

        // One of the works that the fault can be planted into.
        void plant(Run& run) {
            const Fault fault = model_.fault_;
            if (fault == Fault::wrong_target) {
                for (Write& write : run.schedule.writes) ++write.target;
                return;
            }
            if (fault == Fault::stage_early) {
                for (Stage& stage : run.schedule.stages)
                    if (!stage.arrivals.empty()) --stage.arrivals.front().messages;
                return;
            }
            if (fault == Fault::stage_overtaken) {
                for (Work& work : run.pending)
                    if (work.trigger.counter.kind == Counter::Kind::stage) work.trigger = {};
                return;
            }
            const std::vector<Work*> waiting = waiting_works(run.pending);
            if (waiting.empty()) return;
            Work& work = *waiting[model_.random_() % waiting.size()];
            if (fault == Fault::threshold_low) --work.trigger.threshold;
            if (fault == Fault::threshold_high) work.trigger.threshold += 1000;
            if (fault == Fault::no_level) work.trigger = {};
        }

        // Of each counter the work that is the next one there.
        std::vector<std::size_t> first_due(const Run& run) const {
            std::vector<std::size_t> due;
            for (std::size_t i = 0; i < run.pending.size(); ++i) {
                const Trigger& trigger = run.pending[i].trigger;
                if (!happens(run, trigger)) continue;
                bool first = true;
                for (const std::size_t other : due) {
                    const Trigger& known = run.pending[other].trigger;
                    if (known.counter == trigger.counter && known.threshold <= trigger.threshold)
                        first = false;
                }
                // A lower threshold goes first, although it was queued later.
                for (std::size_t j = i + 1; j < run.pending.size(); ++j) {
                    const Trigger& later = run.pending[j].trigger;
                    if (later.counter == trigger.counter && later.threshold < trigger.threshold)
                        first = false;
                }
                if (first) due.push_back(i);
            }
            return due;
        }
        bool happens(const Run& run, const Trigger& trigger) const {
            const std::uint64_t at = Ledger::threshold(run.uses, trigger);
            return trigger.counter.kind == Counter::Kind::none || value(run, trigger.counter) >= at;
        }

        void fire(Run& run, std::size_t at) {
            const Work work = run.pending[at];
            run.pending.erase(run.pending.begin() + static_cast<std::ptrdiff_t>(at));
            if (work.kind == Work::Kind::add) {
                ++run.gates[static_cast<std::size_t>(work.gate)];
                return;
            }
            const Write write = run.schedule.writes[work.write];
            const int slot = run.uses.at(write.peer).slot_out;
            const std::uint64_t use = run.use_out.at(write.peer);
            // The bytes are read as late as possible.
            model_.wires_(rank_, write.peer).push_back([this, &run, write, slot, use] {
                model_.nodes_[static_cast<std::size_t>(write.peer)].land(rank_, slot, use, write,
                                                                         at_place(run, write.source));
                --run.writes_left;
            });
        }

        const std::byte* at_place(const Run& run, const Place& place) const {
            switch (place.memory) {
                case Place::Memory::in:
                    return run.in.data() + place.offset;
                case Place::Memory::out:
                    return run.out.data() + place.offset;
                case Place::Memory::reduced:
                    return run.reduced.data() + place_of_result(run, place.offset);
                case Place::Memory::slot:
                    break;
            }
            return ends_.at(place.peer).slots[run.uses.at(place.peer).slot_in].data() + place.offset;
        }

        void land(int sender, int slot, std::uint64_t use, const Write& write, const std::byte* bytes) {
            End& end = ends_[sender];
            if (end.taken[slot] < use) model_.wrong_ = "a write lands before the slot is free";
            std::copy_n(bytes, write.bytes,
                        end.slots[slot].begin() + static_cast<std::ptrdiff_t>(write.target));
            if (write.counts) end.landed[slot] = (end.landed[slot] + 1) % counts;
        }

        std::uint64_t place_of_result(const Run& run, std::uint64_t offset) const {
            if (model_.fault_ != Fault::one_result) return offset;
            for (const Stage& stage : run.schedule.stages)
                for (const Reduction& one : stage.reductions)
                    if (one.result > 0) return offset % one.result;
            return offset;
        }

        bool stage_is_due(const Run& run) const {
            if (run.stages_over == run.schedule.stages.size()) return false;
            const auto& arrivals = run.schedule.stages[run.stages_over].arrivals;
            return std::all_of(arrivals.begin(), arrivals.end(), [&](const Arrival& one) {
                return happens(run, {{Counter::Kind::landed, one.peer}, one.messages});
            });
        }

        void do_stage(Run& run) {
            reduce_in_stage(
                run.schedule.stages[run.stages_over], run.reduced,
                [&](const Place& place) { return at_place(run, place); },
                [&](std::uint64_t result) { return place_of_result(run, result); });
            ++run.stages_over;
        }

        bool complete(const Run& run) const {
            if (run.writes_left > 0 || run.stages_over < run.schedule.stages.size()) return false;
            for (const auto& [peer, use] : run.uses)
                if (use.receives && ends_.at(peer).landed[use.slot_in] < use.landed_after) return false;
            return true;
        }

        void end(Run& run) {
            const int number = static_cast<int>(run.number);
            for (const Node& other : model_.nodes_)
                if (run.job->problem.collective == Collective::barrier && other.begun() <= run.number)
                    model_.wrong_ = "a rank leaves a barrier that another has not entered";
            move_into(run.out, run.schedule.moves, [&](const Place& place) { return at_place(run, place); });
            if (run.out != out_after(run.job->problem, rank_, number, run.out)) model_.wrong_ = "wrong bytes";
            ledger_.end(run.uses, *this);
            for (const auto& [peer, use] : run.uses)
                if (use.receives) ++ends_[peer].taken[use.slot_in];
            if (model_.fault_ != Fault::credit_early) credit(run);
            std::erase_if(runs_, [&](const auto& one) { return one.get() == &run; });
        }

        void credit(const Run& run) {
            for (const auto& [peer, use] : run.uses) {
                if (!use.receives) continue;
                model_.wires_(-1 - rank_, peer).push_back([this, peer = peer, slot = use.slot_in] {
                    End& end = model_.nodes_[static_cast<std::size_t>(peer)].ends_[rank_];
                    end.credits[slot] = (end.credits[slot] + 1) % counts;
                });
            }
        }

        Model& model_;
        int rank_;
        Ledger ledger_;
        std::map<int, End> ends_;
        std::map<int, std::array<std::uint64_t, 2>> uses_out_;
        std::vector<std::unique_ptr<Run>> runs_;
        std::size_t begun_ = 0;
    };

    bool over() const {
        for (const Node& node : nodes_)
            if (!node.over()) return false;
        return wires_.empty();
    }

    const std::vector<Job>& jobs_;
    const int ranks_;
    std::mt19937 random_;
    const Fault fault_;
    std::string wrong_;
    std::deque<Node> nodes_;
    Wires wires_;
};

std::string run(unsigned seed, Fault fault, std::uint64_t first,
                std::optional<Collective> only = std::nullopt) {
    std::mt19937 random(seed);
    const int ranks = 2 + static_cast<int>(random() % 4);
    const auto jobs = random_jobs(ranks, random, first == 0 ? 6 : 80, only);
    const std::string wrong = Model(jobs, seed, first, fault).run();
    if (wrong.empty() || fault != Fault::none) return wrong;
    return describe(wrong, seed, jobs);
}

constexpr unsigned seeds = LAPWING_TEST_FEWER ? 40 : 400;

TEST(TriggeredModel, EveryOrderGivesTheBytesOfTheProblem) {
    for (unsigned seed = 0; seed < seeds; ++seed) ASSERT_EQ(run(seed, Fault::none, 0), "");
}

TEST(TriggeredModel, CountersBeginAnewBeforeTheirEnd) {
    for (unsigned seed = 0; seed < seeds / 8; ++seed)
        ASSERT_EQ(run(seed, Fault::none, counts - max_in_run - seed % 9), "");
}

TEST(TriggeredModel, EveryAlgorithmWithASchedule) {
    check_each_algorithm([](const Job& job, unsigned number) {
        EXPECT_EQ(Model({job, job, job}, number, 0, Fault::none).run(), "");
    });
}

class PlantedFaults : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFaults, AreFound) {
    const bool near_end = GetParam() == Fault::no_new_beginning || GetParam() == Fault::no_pause;
    const std::uint64_t first = near_end ? counts - max_in_run : 0;
    unsigned found = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        const Collective often =
            GetParam() >= Fault::stage_early ? Collective::allreduce : Collective::barrier;
        const auto only = seed % 2 == 0 ? std::optional(often) : std::nullopt;
        if (!run(seed, GetParam(), first, only).empty()) ++found;
    }
    EXPECT_GT(found, 5U);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFaults,
                         testing::Values(Fault::threshold_low, Fault::threshold_high, Fault::no_credit,
                                         Fault::credit_early, Fault::same_slot, Fault::wrong_target,
                                         Fault::no_new_beginning, Fault::no_pause, Fault::no_level,
                                         Fault::stage_early, Fault::stage_overtaken, Fault::one_result));

}  // namespace
}  // namespace lapwing::triggered
