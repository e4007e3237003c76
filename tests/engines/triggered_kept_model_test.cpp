// Lists of the triggered engine that keep their buffers, run by a model of a network as late and unkind as it
// may be: persistent collectives, several of them, which each rank starts again in an order of its own. The
// bytes are compared with what the problems promise; between two runs the buffers are the program's, and
// nothing may land there. Planted faults must be found.
#include <gtest/gtest.h>

#include <memory>

#include "engines/triggered/kept_ledger.hpp"
#include "engines/triggered_model.hpp"

namespace lapwing::triggered {
namespace {

using namespace testing_triggered;

enum class Fault {
    none,
    no_credit,             // writes do not wait for the peer's start
    credit_early,          // given when the run before ends
    no_credit_at_renewal,  // pairs that move no bytes begin their counts anew without one
    threshold_low,         // one arrival or gate too few
    threshold_high,        // far too many
    wrong_landing,         // the peer has told of another place
    in_slot_order,         // messages land where those in slots would
    no_new_beginning,      // counters run over their end
    no_pause,              // runs send while a credit counter has to begin anew
    no_level,              // what waits for arrivals begins at once
    stage_early,           // one arrival too few before a stage
    stage_overtaken,       // writes do not wait for the stages before them
};

class Model {
  public:
    Model(const std::vector<Job>& jobs, int starts, unsigned seed, std::uint64_t first, Fault fault)
        : starts_(starts), random_(seed), fault_(fault) {
        const std::uint64_t limit = fault == Fault::no_new_beginning ? UINT64_MAX : counts - max_in_run;
        for (int rank = 0; rank < jobs.front().problem.ranks; ++rank)
            for (const Job& job : jobs)
                nodes_.emplace_back(*this, job, nodes_.size() % jobs.size(), rank, limit, first);
    }

    // Empty, or what went wrong.
    std::string run() {
        for (;;) {
            Events events;
            for (Node& node : nodes_) node.offer(events);
            wires_.offer(events);
            if (!wrong_.empty()) return wrong_;
            if (events.empty()) break;
            events[random_() % events.size()]();
        }
        for (const Node& node : nodes_)
            if (!node.over()) return "nothing can happen any more";
        return "";
    }

  private:
    // Of a pair, at one rank.
    struct End {
        const Exchange* exchange = nullptr;
        Bytes slot;
        std::uint64_t landed = 0;
        std::uint64_t credits = 0;
    };

    struct Run {
        int number = 0;
        bool sends = false;
        Uses uses;
        std::vector<Work> pending;
        std::vector<std::uint64_t> gates;
        std::uint64_t writes_left = 0;
        std::uint64_t stages_over = 0;
        Bytes reduced;
    };

    // One rank's part in one list.
    class Node : public SlotCounters {
      public:
        Node(Model& model, const Job& job, std::size_t list, int rank, std::uint64_t limit,
             std::uint64_t first)
            : model_(model),
              problem_(job.problem),
              list_(list),
              rank_(rank),
              schedule_(schedule(job.lists.lists[static_cast<std::size_t>(rank)], Landing::direct)),
              ledger_(schedule_, limit, first) {
            for (const Exchange& exchange : schedule_.exchanges) {
                End& end = ends_[exchange.peer];
                end = {&exchange, Bytes(exchange.bytes_received + 1), first, first};
            }
        }

        std::uint64_t read(const SlotCounter& counter) override { return value(counter); }
        void set_to_zero(const SlotCounter& counter) override { value(counter) = 0; }

        bool over() const { return begun_ == model_.starts_ && run_ == nullptr; }
        bool is(std::size_t list, int rank) const { return list_ == list && rank_ == rank; }

        void offer(Events& events) {
            if (run_ == nullptr) {
                if (begun_ < model_.starts_) events.push_back([this] { begin(); });
                return;
            }
            if (!run_->sends) {
                if (model_.fault_ == Fault::no_pause || ledger_.can_send(*this))
                    events.push_back([this] { send(); });
                return;
            }
            for (std::size_t i = 0; i < run_->pending.size(); ++i)
                if (is_first(i)) events.push_back([this, i] { fire(i); });
            if (stage_is_due()) events.push_back([this] { do_stage(); });
            if (complete()) events.push_back([this] { end(); });
        }

      private:
        std::uint64_t& value(const SlotCounter& counter) {
            End& end = ends_.at(counter.peer);
            return counter.kind == Counter::Kind::credit ? end.credits : end.landed;
        }
        bool happens(const Trigger& trigger) {
            switch (trigger.counter.kind) {
                case Counter::Kind::none:
                    return true;
                case Counter::Kind::gate:
                    return run_->gates[static_cast<std::size_t>(trigger.counter.which)] >= trigger.threshold;
                case Counter::Kind::stage:
                    return run_->stages_over >= trigger.threshold;
                default:
                    return value({trigger.counter.kind, trigger.counter.which, 0}) >=
                           Ledger::threshold(run_->uses, trigger);
            }
        }
        // Of works with one trigger the first one queued goes first, as do lower thresholds.
        bool is_first(std::size_t at) {
            const Trigger& trigger = run_->pending[at].trigger;
            if (!happens(trigger)) return false;
            for (std::size_t i = 0; i < run_->pending.size(); ++i) {
                const Trigger& other = run_->pending[i].trigger;
                if (i == at || !(other.counter == trigger.counter)) continue;
                if (other.threshold < trigger.threshold || (other.threshold == trigger.threshold && i < at))
                    return false;
            }
            return true;
        }

        void begin() {
            const Fault fault = model_.fault_;
            run_ = std::make_unique<Run>();
            run_->number = begun_++;
            run_->uses = ledger_.begin(*this);
            for (auto& [peer, use] : run_->uses)
                if (fault == Fault::no_credit_at_renewal && ends_.at(peer).exchange->bytes_received == 0)
                    use.gives_credit = false;
            in_ = in_of(problem_, rank_, run_->number);
            out_ = out_before(problem_, rank_, run_->number);
            if (fault != Fault::credit_early || run_->number == 0) give_credits();
        }

        void send() {
            const Fault fault = model_.fault_;
            run_->sends = true;
            ledger_.send(run_->uses, *this);
            for (auto& [peer, use] : run_->uses)
                if (fault == Fault::no_credit_at_renewal && ends_.at(peer).exchange->bytes_sent == 0)
                    use.ready = true;
            run_->pending = works(schedule_, [&](std::int32_t peer) {
                return fault != Fault::no_credit && !run_->uses.at(peer).ready;
            });
            run_->gates.resize(gates_of(run_->pending));
            run_->reduced.resize(schedule_.reduced_bytes);
            run_->writes_left = schedule_.writes.size();
            plant();
            // What waits for nothing happens while it is queued.
            for (std::size_t i = 0; i < run_->pending.size();) {
                if (run_->pending[i].trigger.counter.kind == Counter::Kind::none)
                    fire(i);
                else
                    ++i;
            }
        }

        void plant() {
            const Fault fault = model_.fault_;
            const std::vector<Work*> waiting = waiting_works(run_->pending);
            if (fault == Fault::stage_overtaken)
                for (Work& work : run_->pending)
                    if (work.trigger.counter.kind == Counter::Kind::stage) work.trigger = {};
            if (waiting.empty()) return;
            Work& work = *waiting[model_.random_() % waiting.size()];
            if (fault == Fault::threshold_low) --work.trigger.threshold;
            if (fault == Fault::threshold_high) work.trigger.threshold += 1000;
            if (fault == Fault::no_level) work.trigger = {};
        }

        void give_credits() {
            for (const auto& [peer, use] : run_->uses) {
                if (!use.gives_credit) continue;
                model_.wires_(-1 - rank_, peer).push_back([this, peer = peer] {
                    End& end = model_.find(list_, peer).ends_.at(rank_);
                    end.credits = (end.credits + 1) % counts;
                });
            }
        }

        void fire(std::size_t at) {
            const Work work = run_->pending[at];
            run_->pending.erase(run_->pending.begin() + static_cast<std::ptrdiff_t>(at));
            if (work.kind == Work::Kind::add) {
                ++run_->gates[static_cast<std::size_t>(work.gate)];
                return;
            }
            const Write& write = schedule_.writes[work.write];
            // The bytes are read as late as possible.
            model_.wires_(rank_, write.peer).push_back([this, &write] {
                model_.find(list_, write.peer).land(rank_, run_->number, write, at_place(write.source));
                --run_->writes_left;
            });
        }

        const std::byte* at_place(const Place& place) const {
            switch (place.memory) {
                case Place::Memory::in:
                    return in_.data() + place.offset;
                case Place::Memory::out:
                    return out_.data() + place.offset;
                case Place::Memory::reduced:
                    return run_->reduced.data() + place.offset;
                case Place::Memory::slot:
                    break;
            }
            return ends_.at(place.peer).slot.data() + place.offset;
        }

        void land(int sender, int number, const Write& write, const std::byte* bytes) {
            End& end = ends_.at(sender);
            if (write.bytes > 0) {
                if (run_ == nullptr || run_->number != number)
                    model_.wrong_ = "a write lands in memory that is the program's";
                Piece landing = end.exchange->landings.at(write.message);
                if (model_.fault_ == Fault::wrong_landing) ++landing.place.offset;
                if (model_.fault_ == Fault::in_slot_order) landing.place.offset = write.target;
                Bytes& memory = landing.place.memory == Place::Memory::out ? out_ : end.slot;
                const std::uint64_t to = landing.place.offset + write.within;
                if (to + write.bytes > memory.size()) {
                    model_.wrong_ = "a write lands outside of the buffer";
                    return;
                }
                std::copy_n(bytes, write.bytes, memory.begin() + static_cast<std::ptrdiff_t>(to));
            }
            if (write.counts) end.landed = (end.landed + 1) % counts;
        }

        bool landed(const std::vector<Arrival>& arrivals) {
            for (const Arrival& one : arrivals)
                if (!happens({{Counter::Kind::landed, one.peer}, one.messages})) return false;
            return true;
        }
        bool stage_is_due() {
            if (run_->stages_over == schedule_.stages.size()) return false;
            std::vector<Arrival> arrivals = schedule_.stages[run_->stages_over].arrivals;
            if (model_.fault_ == Fault::stage_early && !arrivals.empty()) --arrivals.front().messages;
            return landed(arrivals);
        }

        void do_stage() {
            reduce_in_stage(
                schedule_.stages[run_->stages_over], run_->reduced,
                [this](const Place& place) { return at_place(place); },
                [](std::uint64_t result) { return result; });
            ++run_->stages_over;
        }

        bool complete() {
            if (run_->writes_left > 0 || run_->stages_over < schedule_.stages.size()) return false;
            for (const auto& [peer, use] : run_->uses)
                if (use.receives && ends_.at(peer).landed < use.landed_after) return false;
            return true;
        }

        void end() {
            move_into(out_, schedule_.moves, [this](const Place& place) { return at_place(place); });
            if (out_ != out_after(problem_, rank_, run_->number, out_)) model_.wrong_ = "wrong bytes";
            if (model_.fault_ == Fault::credit_early && begun_ < model_.starts_) give_credits();
            run_.reset();
        }

        Model& model_;
        const Problem problem_;
        const std::size_t list_;
        const int rank_;
        const Schedule schedule_;
        KeptLedger ledger_;
        std::map<int, End> ends_;
        std::unique_ptr<Run> run_;
        Bytes in_;
        Bytes out_;
        int begun_ = 0;
    };

    Node& find(std::size_t list, int rank) {
        return *std::find_if(nodes_.begin(), nodes_.end(),
                             [&](const Node& node) { return node.is(list, rank); });
    }

    const int starts_;
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
    const auto jobs = random_jobs(ranks, random, 3, only);
    const std::string wrong = Model(jobs, first == 0 ? 4 : 50, seed, first, fault).run();
    if (wrong.empty() || fault != Fault::none) return wrong;
    return describe(wrong, seed, jobs);
}

constexpr unsigned seeds = LAPWING_TEST_FEWER ? 40 : 300;

TEST(TriggeredKeptModel, EveryOrderGivesTheBytesOfTheProblem) {
    for (unsigned seed = 0; seed < seeds; ++seed) ASSERT_EQ(run(seed, Fault::none, 0), "");
}

TEST(TriggeredKeptModel, CountersBeginAnewBeforeTheirEnd) {
    for (unsigned seed = 0; seed < seeds / 8; ++seed)
        ASSERT_EQ(run(seed, Fault::none, counts - max_in_run - seed % 40), "");
}

TEST(TriggeredKeptModel, EveryAlgorithmWithASchedule) {
    check_each_algorithm([](const Job& job, unsigned number) {
        EXPECT_EQ(Model({job}, 3, number, 0, Fault::none).run(), "");
    });
}

class PlantedFaultsOfKept : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFaultsOfKept, AreFound) {
    const Fault fault = GetParam();
    const bool near_end =
        fault == Fault::no_new_beginning || fault == Fault::no_pause || fault == Fault::no_credit_at_renewal;
    std::optional<Collective> often;
    if (fault == Fault::no_credit_at_renewal || fault == Fault::threshold_low || fault == Fault::no_level)
        often = Collective::barrier;
    if (fault == Fault::stage_early || fault == Fault::stage_overtaken) often = Collective::allreduce;
    unsigned found = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        const std::uint64_t first = near_end ? counts - max_in_run - 8 : 0;
        if (!run(seed, fault, first, seed % 2 == 0 ? often : std::nullopt).empty()) ++found;
    }
    EXPECT_GT(found, 5U);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFaultsOfKept,
                         testing::Values(Fault::no_credit, Fault::credit_early, Fault::no_credit_at_renewal,
                                         Fault::threshold_low, Fault::threshold_high, Fault::wrong_landing,
                                         Fault::in_slot_order, Fault::no_new_beginning, Fault::no_pause,
                                         Fault::no_level, Fault::stage_early, Fault::stage_overtaken));

}  // namespace
}  // namespace lapwing::triggered
