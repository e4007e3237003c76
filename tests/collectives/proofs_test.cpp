// What holds for every algorithm of the catalogue: its lists are right, and ranks that know less than the
// checker build the same ones.

#include "choices.hpp"
#include "collectives/catalogue.hpp"
#include "problems.hpp"
#include "support/unit.hpp"
#include "task/chains.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

// lab/proven/proven.hpp has the same numbers.
constexpr int enumerated_ranks = 20;
constexpr int sampled_ranks = 64;

void expect_proven(const Problem& problem, const Choice& choice) {
    const ListSet set = build_all(problem, choice);
    const auto violations = check(problem, set.lists);
    ASSERT_TRUE(violations.empty()) << print(problem) << " " << set.algorithm << ": "
                                    << violations.front().what(set.lists);
    for (const List& list : set.lists) {
        const Verdict has = has_chains(list);
        ASSERT_TRUE(has) << print(problem) << " " << set.algorithm << ": " << has.reason();
        for (const Task& task : list.tasks) {
            ASSERT_FALSE(is_reduction(problem.collective) && sends(task.kind) && task.source.length == 0)
                << print(problem) << " " << set.algorithm << " sends an empty message";
        }
    }
}

TEST(SlowProofs, AllListsAreProven) {
    for (int ranks = 1; ranks <= enumerated_ranks; ++ranks) {
        for (const std::uint64_t bytes : {0U, 1U, 8U, 24U, 200U}) {
            for_each_problem(ranks, bytes, expect_proven);
            if (HasFatalFailure()) return;
        }
    }
}

// Of fewer elements than ranks, as many, and more.
TEST(SlowProofs, ReductionsAreProvenForAnyNumberOfElements) {
    for (int ranks = 1; ranks <= enumerated_ranks; ++ranks) {
        for (const int elements : {3, ranks - 1, ranks, 2 * ranks + 1}) {
            for (const Collective collective : all_collectives()) {
                if (!is_reduction(collective)) continue;
                for (const auto sample : {sample_problems, sample_problems_on_hosts}) {
                    for (const Problem& problem :
                         sample(collective, ranks, 8 * static_cast<std::uint64_t>(elements)))
                        for_each_choice(problem, expect_proven);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST(SlowProofs, AlsoOfManyRanks) {
    for (const int ranks : {21, 24, 31, 32, 33, 48, 57, 63, sampled_ranks}) {
        for_each_problem(ranks, 160, expect_proven);
        if (HasFatalFailure()) return;
    }
}

TEST(Proofs, AlsoWithEveryRootAndWhereFewHaveBlocks) {
    for (int ranks = 1; ranks <= 12; ++ranks) {
        for (const Collective collective : all_collectives()) {
            for (int root = 0; root < (has_root(collective) ? ranks : 1); ++root) {
                for (const int how : {0, 1, 2, 3}) {
                    const bool in_place = how % 2 != 0;
                    const bool ordered = how / 2 != 0;
                    if ((in_place && !may_be_in_place(collective)) || collective == Collective::barrier ||
                        (ordered && !is_reduction(collective)))
                        continue;
                    for (const Problem& problem :
                         with_parts(problem_of(collective, ranks, root, 5, in_place, ordered)))
                        for_each_choice(problem, expect_proven);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

// Where collectives have a root, only that knows whether its input stands in out.
TEST(Proofs, OnlyTheRootNeedKnowWhatIsInPlace) {
    for_each_problem(6, 8, [](const Problem& problem, const Choice& choice) {
        if (!has_root(problem.collective) || !problem.in_place) return;
        for (int rank = 0; rank < problem.ranks; ++rank) {
            if (rank == problem.root) continue;
            Problem other = seen_by(problem, rank);
            other.in_place = false;
            ASSERT_EQ(build(problem, rank, choice), build(other, rank, choice))
                << print(problem) << " " << print(choice);
        }
    });
}

TEST(Proofs, ARankNeedsItsOwnPartsOnly) {
    for_each_problem(7, 8, [](const Problem& problem, const Choice& choice) {
        for (int rank = 0; rank < problem.ranks; ++rank)
            ASSERT_EQ(build(problem, rank, choice), build(seen_by(problem, rank), rank, choice))
                << print(problem) << " " << print(choice);
    });
}

// By what it knows, every rank must come to the same choice.
TEST(Proofs, AllRanksCountTheSameCosts) {
    const auto expect_equal = [](const Problem& a, const Problem& b, const Algorithm& algorithm) {
        const Parameters parameters = default_parameters(algorithm);
        ASSERT_EQ(static_cast<bool>(algorithm.applies(a, parameters)),
                  static_cast<bool>(algorithm.applies(b, parameters)))
            << print(a) << " " << algorithm.name;
        ASSERT_EQ(algorithm.cost(a, parameters, {}), algorithm.cost(b, parameters, {}))
            << print(a) << " " << algorithm.name;
    };
    for (const Algorithm* algorithm : catalogue()) {
        const Collective collective = algorithm->collective;
        const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
        const std::vector<Problem> problems = sample(collective, 9, 24);
        for (const Problem& problem : problems) {
            for (int rank = 0; rank < problem.ranks; ++rank) {
                Problem own = seen_by(problem, rank);
                if (has_root(collective) && rank != problem.root) own.in_place = false;
                expect_equal(problem, own, *algorithm);
            }
            // Where ranks do not know each other's blocks, these do not count at all.
            if (has_parts(collective) && problem.bytes == 0 && problems.front().bytes == 0)
                expect_equal(problem, problems.front(), *algorithm);
        }
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace lapwing
