// Which connections a new group of the kernel engine uses. Ranks are threads of one process, connected over
// the loopback interface.

#include "collectives/catalogue.hpp"
#include "engines/kernel/engine.hpp"
#include "engines/ranks.hpp"
#include "support/engines.hpp"
#include "support/jobs.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

constexpr int ranks = 2;

// The connected sockets of this process, by the system's names for them.
std::set<std::string> sockets() {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code closed;
        const std::string name = std::filesystem::read_symlink(entry.path(), closed).string();
        if (name.starts_with("socket:")) all.insert(name);
    }
    return all;
}

// A group on each rank, as a communicator has one.
struct Opened {
    std::array<std::unique_ptr<GroupEngine>, ranks> of_rank;
};

class KernelGroupPool : public testing::Test {
  protected:
    void SetUp() override {
        LAPWING_NEEDS_ENGINE(kernel_engine());
        job_.emplace(kernel_engine(), ranks, Settings{});
        world_ = open();
        run(world_);
    }

    using Reserved = std::array<std::unique_ptr<Reservation>, ranks>;
    Reserved reserve() {
        Reserved all;
        for (int rank = 0; rank < ranks; ++rank) all[at(rank)] = job_->of(rank).reserve({0, 1});
        return all;
    }
    static Reserved agreed(Reserved reserved) {
        std::uint64_t maximum = 0;
        for (const auto& one : reserved) maximum = std::max(maximum, one->claim());
        for (const auto& one : reserved) one->agreed(maximum);
        return reserved;
    }
    Opened open(Reserved reserved) {
        reserved = agreed(std::move(reserved));
        ++number_;
        Opened opened;
        for (int rank = 0; rank < ranks; ++rank) {
            opened.of_rank[at(rank)] = job_->of(rank).open(
                {.number = number_, .rank = rank, .members = {0, 1}}, std::move(reserved[at(rank)]));
        }
        return opened;
    }
    Opened open() { return open(reserve()); }

    // Runs several lists, on all lanes.
    static void run(Opened& opened) {
        const Problem problem{.collective = Collective::alltoall, .ranks = ranks, .bytes = 100};
        const ListSet lists = build_all(problem, parse_choice(problem.collective, "flat"));
        on_ranks(ranks, [&](int rank, std::barrier<>& together) {
            RankRuns one(problem, rank,
                         opened.of_rank[at(rank)]->prepare(problem, lists.lists[at(rank)], {}));
            for (int i = 0; i < 5; ++i) one.start();
            one.wait_all();
            EXPECT_TRUE(one.right());
            together.arrive_and_wait();
        });
    }
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

    std::optional<OpenedEngine> job_;
    Opened world_;
    std::uint64_t number_ = 0;
};

TEST_F(KernelGroupPool, ANewGroupTakesTheConnectionsOfAFreedOne) {
    std::optional<Opened> first = open();
    run(*first);
    const std::set<std::string> before = sockets();
    first.reset();
    Opened second = open();
    run(second);
    EXPECT_EQ(sockets(), before);
}

TEST_F(KernelGroupPool, GroupsThatAreInUseHaveConnectionsOfTheirOwn) {
    Opened first = open();
    run(first);
    const std::size_t before = sockets().size();
    Opened second = open();
    run(second);
    EXPECT_GT(sockets().size(), before);
    run(first);
    run(world_);
}

// The group is in use until the last rank has freed it.
TEST_F(KernelGroupPool, ARankThatHasNotFreedAGroupKeepsTheOthersFromIt) {
    Opened first = open();
    run(first);
    first.of_rank[0].reset();
    Opened second = open();
    run(second);
    first.of_rank[1].reset();
    const std::set<std::string> before = sockets();
    second = {};
    Opened third = open();
    run(third);
    EXPECT_EQ(sockets(), before);
}

// A rank cannot tell what is free before it knows which connections its other communicators will have.
TEST_F(KernelGroupPool, GroupsThatAreAgreedOnAtTheSameTimeDoNotMeet) {
    run(*std::make_unique<Opened>(open()));  // leaves connections to the next one
    Reserved early = reserve();
    Opened second = open();
    Opened first = open(std::move(early));
    run(second);
    run(first);
    run(second);
}

TEST_F(KernelGroupPool, BesideManyThatAreInUseAGroupIsCostly) {
    const auto is_costly = [](const Reserved& reserved) {
        EXPECT_EQ(reserved[0]->is_costly(), reserved[1]->is_costly());
        return reserved[0]->is_costly();
    };
    std::vector<Opened> in_use(4);
    Reserved first = reserve();
    for (Opened& one : in_use) one = open();  // at the same time: each has a group of its own
    first = agreed(std::move(first));
    EXPECT_FALSE(is_costly(first));
    in_use.push_back(open(std::move(first)));
    while (in_use.size() < 7) in_use.push_back(open());  // and world_
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_costly(agreed(reserve())));
    // One that is opened late does not count.
    Opened late = open();
    run(late);
    in_use.pop_back();
    EXPECT_FALSE(is_costly(agreed(reserve())));
    in_use.clear();
    EXPECT_FALSE(is_costly(agreed(reserve())));
}

// Programs with many different communicators must not run out of descriptors.
TEST_F(KernelGroupPool, FewUnusedGroupsKeepTheirConnections) {
    const auto all_at_once = [this](std::size_t count) {
        std::vector<Opened> all;
        for (std::size_t i = 0; i < count; ++i) run(all.emplace_back(open()));
    };
    all_at_once(8);
    const std::size_t eight = sockets().size();
    all_at_once(20);
    EXPECT_LE(sockets().size(), eight);
    Opened last = open();
    run(last);
}

}  // namespace
}  // namespace lapwing
