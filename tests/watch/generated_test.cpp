// Correct programs in random states have no false finding; planted mistakes are found and named.

#include "base/error.hpp"
#include "support/unit.hpp"
#include "watch/hand_made.hpp"

namespace lapwing {
namespace {

using namespace testing_watch;
using testing::HasSubstr;
using Kind = watch::Finding::Kind;

// A correct program: all ranks make the collectives of their communicators in one order. Each rank has come
// to a random place.
class RandomProgram {
  public:
    RandomProgram(unsigned seed, bool settled) : random_(seed), job_(2 + pick(7)), at_(job_.ranks()) {
        const int communicators = 1 + pick(4);
        members_.push_back({});
        for (int rank = 0; rank < job_.ranks(); ++rank) members_[0].push_back(rank);
        for (int i = 1; i < communicators; ++i) {
            std::vector<int> some = members_[0];
            std::shuffle(some.begin(), some.end(), random_);
            some.resize(1 + static_cast<std::size_t>(pick(job_.ranks())));
            job_.communicator("communicator " + std::to_string(i), some);
            members_.push_back(some);
        }
        const int length = pick(60);
        for (int i = 0; i < length; ++i) add_step();
        const int moves = pick(length * job_.ranks() + 1);
        for (int i = 0; i < moves; ++i) advance(pick(job_.ranks()));
        // A hang: each rank is as far as it can come without ranks that compute.
        for (bool moved = settled; moved;) {
            moved = false;
            for (int rank = 0; rank < job_.ranks(); ++rank) moved = moved || (waits(rank) && advance(rank));
        }
        for (int rank = 0; rank < job_.ranks(); ++rank) show(rank, settled ? 41 * second : second / 100);
    }

    HandMadeJob& job() { return job_; }
    bool waits(int rank) const { return at_[rank].waits_for >= 0; }
    bool has_called(int rank, std::size_t step) const { return at_[rank].calls.count(step) > 0; }

  private:
    struct Step {
        int communicator;
        CollectiveCall call;
    };
    struct Place {
        std::size_t next = 0;                        // step
        int waits_for = -1;                          // step
        std::vector<std::size_t> in_flight;          // steps
        std::map<std::size_t, std::uint64_t> calls;  // by step: number
    };

    int pick(int below) { return std::uniform_int_distribution(0, below - 1)(random_); }

    void add_step() {
        const int communicator = pick(static_cast<int>(members_.size()));
        const auto collective = all_collectives()[pick(static_cast<int>(all_collectives().size()))];
        const int size = static_cast<int>(members_[communicator].size());
        CollectiveCall call = make_call(collective, "p.c:" + std::to_string(pick(50)),
                                        static_cast<std::uint64_t>(pick(3)) * 8, pick(size));
        if (pick(2) == 0) call = blocking(call);
        steps_.push_back({communicator, call});
    }

    // Whether the rank may leave the collective: all messages that it needs can have come.
    bool completes(int rank, std::size_t step) {
        const auto& [communicator, call] = steps_[step];
        const std::vector<int>& members = members_[communicator];
        const int root = call.arguments.root;
        const auto called = [this, step](int member) { return has_called(member, step); };
        switch (call.arguments.collective) {
            case Collective::broadcast:
            case Collective::scatter:
            case Collective::scatterv:
                return called(members[root]);
            case Collective::gather:
            case Collective::gatherv:
            case Collective::reduce:
                return rank != members[root] || std::all_of(members.begin(), members.end(), called);
            case Collective::scan:
            case Collective::exscan:
                return std::all_of(members.begin(), std::find(members.begin(), members.end(), rank), called);
            default:
                return std::all_of(members.begin(), members.end(), called);
        }
    }

    bool advance(int rank) {
        Place& place = at_[rank];
        if (place.waits_for >= 0) {
            const auto step = static_cast<std::size_t>(place.waits_for);
            if (!completes(rank, step)) return false;
            job_.complete(rank, steps_[step].communicator, place.calls[step]);
            std::erase(place.in_flight, step);
            place.waits_for = -1;
            return true;
        }
        if (!place.in_flight.empty() && pick(3) == 0) {
            place.waits_for =
                static_cast<int>(place.in_flight[pick(static_cast<int>(place.in_flight.size()))]);
            return true;
        }
        while (place.next < steps_.size() && job_.index(rank, steps_[place.next].communicator) < 0)
            ++place.next;
        if (place.next == steps_.size()) return false;
        const std::size_t step = place.next++;
        place.calls[step] = job_.call(rank, steps_[step].communicator, steps_[step].call);
        if (steps_[step].call.form == Form::blocking)
            place.waits_for = static_cast<int>(step);
        else
            place.in_flight.push_back(step);
        return true;
    }

    void show(int rank, std::uint64_t age) {
        const Place& place = at_[rank];
        if (place.waits_for < 0) {
            job_.last(rank, "MPI_Comm_rank", "p.c:99", age);
            return;
        }
        const auto step = static_cast<std::size_t>(place.waits_for);
        const CollectiveCall& call = steps_[step].call;
        if (call.form == Form::blocking)
            job_.inside(rank, call.function, call.where, steps_[step].communicator, age);
        else
            job_.inside(rank, "MPI_Wait", "p.c:98", steps_[step].communicator, age).waits_for = {
                place.calls.at(step)};
    }

    std::mt19937 random_;
    HandMadeJob job_;
    std::vector<std::vector<int>> members_;  // by communicator
    std::vector<Step> steps_;
    std::vector<Place> at_;  // by rank
};

TEST(Generated, CorrectProgramsHaveNoFalseFindings) {
    int missing = 0;
    int hung = 0;
    for (unsigned seed = 0; seed < 4000; ++seed) {
        const bool settled = seed % 2 == 0;
        RandomProgram program(seed, settled);
        bool waits = false;
        for (int rank = 0; rank < program.job().ranks(); ++rank) waits = waits || program.waits(rank);
        const auto findings = program.job().diagnose();
        for (const watch::Finding& finding : findings) {
            ASSERT_THAT(finding.kind, testing::AnyOf(Kind::missing, Kind::idle))
                << "seed " << seed << ": " << finding.sentence;
            if (finding.kind == Kind::missing) ++missing;
            for (const int rank : finding.ranks)
                ASSERT_FALSE(program.waits(rank)) << "seed " << seed << ": " << finding.sentence;
        }
        if (!waits) {
            ASSERT_THAT(findings, testing::IsEmpty()) << "seed " << seed;
        }
        if (settled && waits) {
            ++hung;
            ASSERT_FALSE(findings.empty()) << "seed " << seed;
        }
    }
    EXPECT_GT(missing, 500);
    EXPECT_GT(hung, 500);
}

// ---- Planted mistakes: what most ranks call, what one rank calls, and what the finding must say ----

struct Planted {
    CollectiveCall call;
    CollectiveCall wrong;
    std::string what;
};

std::vector<Planted> planted_mistakes() {
    std::vector<Planted> all;
    const auto& collectives = all_collectives();
    for (std::size_t i = 0; i < collectives.size(); ++i) {
        const Collective one = collectives[i];
        const CollectiveCall call = make_call(one, "a.c:10");
        // Each pair of neighbours in the table, and of those further apart.
        for (const std::size_t distance : {1U, 5U}) {
            const Collective other = collectives[(i + distance) % collectives.size()];
            all.push_back({call, make_call(other, "b.c:20"), "the collectives differ"});
        }
        all.push_back({call, blocking(call), "the collectives differ"});
        all.push_back({blocking(call), call, "the collectives differ"});
        CollectiveCall persistent = call;
        persistent.form = Form::persistent_init;
        all.push_back({call, persistent, "the collectives differ"});
        if (has_root(one)) all.push_back({call, make_call(one, "a.c:10", 8, 1), "the roots differ"});
        if (one != Collective::barrier && !has_parts(one))
            all.push_back({call, make_call(one, "a.c:10", 16), "the lengths differ"});
        if (is_reduction(one)) {
            CollectiveCall wrong = call;
            wrong.arguments.operation = "MPI_MAX";
            all.push_back({call, wrong, "the operators differ"});
            wrong = call;
            wrong.arguments.type = "MPI_LONG";
            all.push_back({call, wrong, "the datatypes differ"});
        }
    }
    return all;
}

// The call is complete in the journal, but the ranks agree in it.
TEST(Persistent, MissingRankInTheInitOfAPersistentCollective) {
    HandMadeJob job(3);
    CollectiveCall init = make_call(Collective::barrier, "b.c:20");
    init.form = watch::Form::persistent_init;
    init.function = "MPI_Barrier_init";
    for (const int rank : {0, 1}) {
        job.completed(rank, 0, init);
        job.inside(rank, init.function, init.where, 0);
    }
    const watch::Finding finding = job.finding();
    EXPECT_EQ(finding.kind, watch::Finding::Kind::missing);
    EXPECT_THAT(finding.ranks, testing::ElementsAre(2));
    EXPECT_EQ(finding.sentence,
              "rank 2 (node1) has not called MPI_Barrier_init on MPI_COMM_WORLD (call 1, b.c:20), in which 2 "
              "ranks have waited for 41 s; it has "
              "called no function of MPI yet");
}

TEST(Planted, EachMistakeIsNamedInAHang) {
    const std::vector<Planted> all = planted_mistakes();
    EXPECT_GT(all.size(), 100U);
    for (const Planted& mistake : all) {
        HandMadeJob job(5);
        for (int rank = 0; rank < 5; ++rank) {
            for (int i = 0; i < 3; ++i) job.completed(rank, 0, make_call(Collective::allreduce, "s.c:1"));
            CollectiveCall call = rank == 3 ? mistake.wrong : mistake.call;
            job.call(rank, 0, call);
            job.inside(rank, "MPI_Wait", "w.c:1", 0).waits_for = {4};
        }
        const auto findings = job.diagnose();
        ASSERT_EQ(findings.size(), 1U)
            << watch::describe(mistake.call) << ", " << watch::describe(mistake.wrong);
        EXPECT_EQ(findings[0].kind, Kind::mismatch);
        EXPECT_THAT(findings[0].ranks, testing::ElementsAre(3));
        for (const std::string& part :
             {mistake.what, watch::describe(mistake.call) + watch::at(mistake.call.where),
              "rank 3 called " + watch::describe(mistake.wrong) + watch::at(mistake.wrong.where)})
            EXPECT_THAT(findings[0].sentence, HasSubstr(part));
    }
}

}  // namespace
}  // namespace lapwing
