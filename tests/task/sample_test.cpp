#include "task/sample.hpp"

#include "support/unit.hpp"
#include "task/validation.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

std::vector<std::uint64_t> lengths(const std::vector<Part>& parts) {
    std::vector<std::uint64_t> all;
    for (const Part& part : parts) all.push_back(part.bytes);
    return all;
}

TEST(Sample, BlocksHaveTheSizesThatAreAskedFor) {
    const Problem alltoallv{.collective = Collective::alltoallv, .ranks = 5};
    EXPECT_THAT(lengths(with_blocks(alltoallv, 10).parts[1].sends), ElementsAre(10, 10, 10, 10, 10));
    const Problem uneven = with_blocks(alltoallv, 10, {.kind = Sizes::Kind::uneven});
    EXPECT_THAT(lengths(uneven.parts[0].sends), ElementsAre(10, 20, 15, 0, 5));
    EXPECT_THAT(lengths(uneven.parts[1].sends), ElementsAre(0, 5, 10, 20, 15));
    const Sizes random{.kind = Sizes::Kind::random, .seed = 4};
    EXPECT_EQ(with_blocks(alltoallv, 10, random), with_blocks(alltoallv, 10, random));
    EXPECT_NE(with_blocks(alltoallv, 10, random),
              with_blocks(alltoallv, 10, {.kind = Sizes::Kind::random, .seed = 5}));
    for (const Parts& parts : with_blocks(alltoallv, 10, random).parts)
        for (const Part& part : parts.sends) EXPECT_LE(part.bytes, 20U);
}

TEST(Sample, BlocksOfReductionsAreWholeElements) {
    Problem problem{.collective = Collective::scan, .ranks = 3, .type = Type::uint32};
    EXPECT_EQ(with_blocks(problem, 11).bytes, 8U);
    problem.collective = Collective::reduce_scatter;
    const Problem uneven = with_blocks(problem, 12, {.kind = Sizes::Kind::uneven});
    EXPECT_THAT(lengths(uneven.parts[0].sends), ElementsAre(12, 24, 16));
    EXPECT_EQ(uneven.bytes, 16U);
}

TEST(Sample, HostsOfEveryKind) {
    // Many ranks take the placements in turn, and the next number of ranks begins with the next placement.
    for (const std::vector<int>& numbers :
         {std::vector{3}, std::vector{4}, std::vector{9, 10, 11, 12}, std::vector{30, 31, 32, 33}}) {
        std::set<std::string> kinds;
        const auto note = [&](const char* kind, bool is) {
            if (is) kinds.insert(kind);
        };
        for (const int ranks : numbers) {
            for (const Problem& problem : sample_problems_on_hosts(Collective::broadcast, ranks, 8)) {
                const Placement& placement = *problem.placement;
                EXPECT_TRUE(placement.hosts() > 1 || placement.levels() > 1);
                EXPECT_LT(placement.hosts(), problem.ranks);
                note("nested", placement.levels() > 2);
                note("one host", placement.hosts() == 1);
                note("in order", placement.in_rank_order());
                note("uneven", placement.largest_host() > placement.smallest_host() + 1);
                note("dealt", placement.in_default_order() && !placement.has_runs());
                note("own order", !placement.in_default_order());
            }
        }
        EXPECT_THAT(kinds, IsSupersetOf({"in order", "dealt", "own order", "one host"}));
        if (numbers.front() > 6) {
            EXPECT_THAT(kinds, IsSupersetOf({"uneven", "nested"}));
        }
    }
    // On each of them, or in turn.
    EXPECT_EQ(sample_problems_on_hosts(Collective::broadcast, 4, 8).size(),
              6 * sample_problems(Collective::broadcast, 4, 8).size());
    EXPECT_EQ(sample_problems_on_hosts(Collective::broadcast, 20, 8).size(),
              2 * sample_problems(Collective::broadcast, 20, 8).size());
}

// Every form that its collective can have is there.
TEST(Sample, ProblemsOfEveryForm) {
    for (const Collective collective : all_collectives()) {
        for (const std::size_t ranks : {1U, 2U, 3U, 9U}) {
            SCOPED_TRACE(testing::Message() << name(collective) << " " << ranks);
            std::set<int> roots;
            std::set<bool> in_place;
            std::set<bool> ordered;
            std::set<std::string> blocks;
            for (const Problem& problem : sample_problems(collective, static_cast<int>(ranks), 24)) {
                EXPECT_NO_THROW(validate(problem));
                roots.insert(problem.root);
                in_place.insert(problem.in_place);
                ordered.insert(problem.ordered);
                for (std::size_t rank = 0; rank < problem.parts.size(); ++rank) {
                    const Parts& parts = problem.parts[rank];
                    std::set<int> peers;
                    std::uint64_t bytes = 0;
                    for (const Part& part : parts.receives) {
                        if (part.peer == static_cast<int>(rank)) blocks.insert("loop");
                        if (!peers.insert(part.peer).second) blocks.insert("twice");
                        bytes += part.bytes;
                    }
                    if (end_of(parts.receives) > bytes) blocks.insert("gap");
                    for (const auto* row : {&parts.sends, &parts.receives}) {
                        for (const Part& part : *row)
                            if (part.bytes == 0) blocks.insert("empty");
                    }
                }
            }
            EXPECT_EQ(roots.size(), has_root(collective) ? std::min<std::size_t>(ranks, 4) : 1);
            EXPECT_EQ(in_place.size(), may_be_in_place(collective) ? 2U : 1U);
            EXPECT_EQ(ordered.size(), is_reduction(collective) ? 2U : 1U);
            if (ranks < 9 || !has_parts(collective)) continue;
            EXPECT_TRUE(blocks.contains("empty"));
            const bool one_block =
                collective == Collective::scatterv || collective == Collective::reduce_scatter;
            EXPECT_TRUE(one_block || blocks.contains("gap"));
            if (has_neighbors(collective)) {
                EXPECT_THAT(blocks, IsSupersetOf({"loop", "twice"}));
            }
        }
    }
}

}  // namespace
}  // namespace lapwing
