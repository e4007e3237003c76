// Every engine runs every algorithm, with ranks as threads of one process: many runs in flight, tested in
// random order, with sends that are buffered and sends that are not. The results are computed from the
// problem alone.
#include <unistd.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "engines/ranks.hpp"
#include "links/socket_pairs.hpp"
#include "links/streams/stream_link.hpp"
#include "support/engines.hpp"
#include "support/jobs.hpp"
#include "support/process_link.hpp"
#include "support/unit.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

constexpr int runs = 4;

// The links of the ranks: messages between threads, or over stream sockets.
struct Links {
    std::vector<std::unique_ptr<Connections>> sockets;
    std::vector<std::unique_ptr<Link>> links;
};
enum class Way { buffered, unbuffered, streams };

Links links_of(int ranks, Way way) {
    Links made;
    if (way != Way::streams) {
        made.links = process_links(ranks, way == Way::buffered);
        return made;
    }
    made.sockets = socket_pairs(ranks, 1, 2048);
    for (const auto& of_rank : made.sockets)
        made.links.push_back(std::make_unique<StreamLink>(*of_rank, ranks));
    return made;
}

// An engine in jobs of these many ranks: with sockets that hold much, and little, which makes sends wait in
// their middle.
class EngineInJobs {
  public:
    EngineInJobs(const Engine& one, int ranks) : engine(one), ranks_(ranks) {}
    OpenedEngine& job(Way way) {
        auto& job = way == Way::buffered ? roomy_ : narrow_;
        if (job == nullptr) {
            Settings settings = read_settings(environ);
            settings.progress_thread = way == Way::buffered ? "none" : "any";
            if (way != Way::buffered) settings.tcp_buffer = "2048";
            job = std::make_unique<OpenedEngine>(engine, ranks_, settings);
        }
        return *job;
    }
    const Engine& engine;
    std::uint64_t groups = 0;
    int problems = 0;  // that the engine has admitted

  private:
    const int ranks_;
    std::unique_ptr<OpenedEngine> roomy_;
    std::unique_ptr<OpenedEngine> narrow_;
};

void run_all(EngineInJobs& opened, const Problem& problem, const Choice& choice, Way way, unsigned seed) {
    const auto list_of = [&](int rank) { return build(problem, rank, choice); };
    const Links made = links_of(problem.ranks, way);
    OpenedEngine& job = opened.job(way);
    EngineGroup group;
    group.number = ++opened.groups;
    for (int rank = 0; rank < problem.ranks; ++rank) group.members.push_back(rank);
    on_ranks(problem.ranks, [&](int rank, std::barrier<>&) {
        const auto at = static_cast<std::size_t>(rank);
        EngineGroup of_rank = group;
        of_rank.rank = rank;
        of_rank.messages = made.links[at].get();
        const auto opened_group = job.open(rank, of_rank);
        const bool admitted{opened_group->admit(problem, list_of, {})};
        // This engine declines a problem if the list of one rank is too long.
        if (!admitted && opened.engine.name() == std::string_view("triggered")) return;
        EXPECT_TRUE(admitted);
        if (rank == 0) ++opened.problems;
        RankRuns all(problem, rank, opened_group->prepare(problem, list_of(rank), {}));
        for (int run = 0; run < runs; ++run) all.start();
        std::mt19937 random(seed + static_cast<unsigned>(rank));
        while (!all.test_one(random)) std::this_thread::yield();
        EXPECT_TRUE(all.right()) << print(problem) << " " << print(choice) << ", rank " << rank;
    });
}

Choice with_two_leaders(Choice choice) {
    for (std::size_t i = 0; i < choice.algorithm->parameters.size(); ++i)
        if (std::string_view(choice.algorithm->parameters[i].name) == "leaders") choice.parameters[i] = 2;
    return choice;
}

// Of an engine, and among so many ranks.
class EnginesTest : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(EnginesTest, EveryAlgorithm) {
    const Engine& engine = find_engine(std::get<0>(GetParam()));
    LAPWING_NEEDS_ENGINE(engine);
    const int ranks = std::get<1>(GetParam());
    EngineInJobs opened(engine, ranks);
    unsigned seed = static_cast<unsigned>(ranks);
    for (const Algorithm* algorithm : catalogue()) {
        const Choice usual{algorithm, default_parameters(*algorithm)};
        for (const std::uint64_t bytes : {8U, 30000U}) {
            // Now one form of the problem, then another.
            const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
            const auto problems = sample(algorithm->collective, ranks, bytes);
            for (const Way way : {Way::buffered, Way::unbuffered, Way::streams}) {
                if (way == Way::streams && &engine != &find_engine("host")) continue;
                // A network or a card that works in software takes long: one way, and some algorithms with
                // each number of ranks.
                if (engine.only_by_name() && way != Way::buffered) continue;
                ++seed;
                if (engine.only_by_name() && seed % (LAPWING_TEST_FEWER ? 9 : 5) != 0) continue;
                // Of those that know hosts, also with two leaders on each.
                const Choice choice = seed % 2 == 0 ? with_two_leaders(usual) : usual;
                const auto declines = [&](const Problem& problem) {
                    return !algorithm->applies(problem, choice.parameters);
                };
                std::size_t at = seed * 7 % problems.size();
                for (std::size_t left = problems.size(); left > 0 && declines(problems[at]); --left)
                    at = (at + 1) % problems.size();
                const Problem& problem = problems[at];
                if (declines(problem)) continue;
                run_all(opened, problem, choice, way, seed);
            }
        }
    }
    EXPECT_GT(opened.problems, 0);
}

std::vector<const char*> engine_names() {
    std::vector<const char*> names;
    for (const Engine* engine : engines()) names.push_back(engine->name());
    return names;
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, EnginesTest,
    testing::Combine(testing::ValuesIn(engine_names()),
                     testing::ValuesIn(LAPWING_TEST_FEWER ? std::vector{2, 3} : std::vector{1, 2, 3, 4, 7})),
    [](const auto& one) { return fmt::format("{}_{}", std::get<0>(one.param), std::get<1>(one.param)); });

// Of an engine that does not leave it to its links to fail.
class FailedJobs : public testing::TestWithParam<const char*> {};

// A rank may be lost between the start of a job and its first collective, which opens the group.
TEST_P(FailedJobs, AGroupThatIsOpenedLaterFails) {
    const Engine& engine = find_engine(GetParam());
    LAPWING_NEEDS_ENGINE(engine);
    OpenedEngine job(engine, 2, read_settings(environ));
    const Links made = links_of(2, Way::buffered);
    const Problem problem = sample_problems(Collective::broadcast, 2, 8).front();
    const Algorithm& algorithm = *algorithms_of(Collective::broadcast).front();
    job.fail(1 - problem.root, "rank 7 has ended");
    on_ranks(2, [&](int rank, std::barrier<>& together) {
        const auto list_of = [&](int any) {
            return build(problem, any, {&algorithm, default_parameters(algorithm)});
        };
        const auto group = job.open(rank, {.number = 1,
                                           .rank = rank,
                                           .members = {0, 1},
                                           .messages = made.links[static_cast<std::size_t>(rank)].get()});
        EXPECT_TRUE(group->admit(problem, list_of, {}));
        RankRuns receives(problem, rank, group->prepare(problem, list_of(rank), {}));
        const auto receive = [&] {
            receives.start();
            receives.wait_all();
        };
        if (rank != problem.root) {
            EXPECT_THAT(receive, testing::ThrowsMessage<Error>("rank 7 has ended"));
        }
        together.arrive_and_wait();
    });
}

INSTANTIATE_TEST_SUITE_P(Engines, FailedJobs, testing::ValuesIn([] {
                             std::vector<const char*> names = engine_names();
                             std::erase_if(names,
                                           [](const char* name) { return std::string_view(name) == "host"; });
                             return names;
                         }()),
                         [](const auto& one) { return one.param; });

TEST(HostEngine, ALinkThatFailsIsAnErrorOfTheRun) {
    const auto links = process_links(2, true);
    const ListSet set = parse(
        "problem broadcast ranks 2 root 0 bytes 8\n"
        "list 0 in 8 out 0 scratch 0\n  send 1 in[0+8]\nend\n"
        "list 1 in 0 out 8 scratch 0\n  recv 0 out[0+4]\n  wait 0 1\nend\n");
    std::byte data[8]{};
    const auto root = open_host_group(*links[0])->prepare({}, set.lists[0], {});
    const auto other = open_host_group(*links[1])->prepare({}, set.lists[1], {});
    wait(*root, root->start({data, nullptr}, 0));
    Operation* operation = other->start({nullptr, data}, 0);
    EXPECT_THROW(wait(*other, operation), Error);
    // Another run of the same plan is not affected.
    EXPECT_NE(other->start({nullptr, data}, 1), operation);
}

TEST(HostEngine, RefusesQueues) {
    List list;
    list.tasks.emplace_back().kind = Kind::enable_send;
    EXPECT_THROW(open_host_group(*process_links(1, true)[0])->prepare({}, list, {}), Error);
}

TEST(EngineCatalogue, NamesTheNearest) {
    EXPECT_STREQ(find_engine("host").name(), "host");
    EXPECT_THROW(find_engine("hots"), Error);
}

}  // namespace
}  // namespace lapwing
