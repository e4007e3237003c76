// The format of recorded programs: what is written is read back, whatever was folded, and however it ended.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "base/values.hpp"
#include "recording/recording.hpp"
#include "recording/stream.hpp"
#include "support/temporary_folder.hpp"

namespace lapwing::recording {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::TemporaryFolder;

std::string contents_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Call call_at(std::uint32_t site) {
    Call call;
    call.site = site;
    call.communicator = 1;
    return call;
}

Thread read(const std::string& stem, bool tail = false) {
    Thread thread;
    read_thread(contents_of(stem + ".calls"), tail ? contents_of(stem + ".tail") : "", thread);
    return thread;
}

std::vector<std::uint32_t> sites_of(const Thread& thread) {
    std::vector<std::uint32_t> sites;
    unfold(thread, [&](const Call& call, const Times&, std::uint64_t) { sites.push_back(call.site); });
    return sites;
}

// What is read of the calls that `write` adds to a stream, which began at the time 7.
template <typename Write>
Thread recorded(Write write, std::size_t window = Folding::default_window) {
    const TemporaryFolder folder;
    Stream stream(folder.path() / "rank-0.0", 7, window);
    write(stream);
    EXPECT_EQ(stream.close(), "");
    return read(folder.path() / "rank-0.0");
}

// Records calls at these sites; call n has the times n.
Thread record(const std::vector<std::uint32_t>& sites, std::size_t window = Folding::default_window) {
    const auto write = [&](Stream& stream) {
        for (std::uint64_t n = 0; n < sites.size(); ++n)
            stream.add(call_at(sites[n]), {n, n, n, 0}, false, 7);
    };
    return recorded(write, window);
}

template <typename Visit>
void visit_nodes(const std::vector<Node>& sequence, const Visit& visit) {
    for (const Node& node : sequence) {
        visit(node);
        visit_nodes(node.body, visit);
    }
}

TEST(Recording, EveryFieldOfACallIsReadBack) {
    Call call;
    call.site = 300;
    call.communicator = 2;
    call.sent = std::uint64_t{1} << 40;
    call.received = 5;
    call.peer = 4095;
    call.source = any_rank;
    call.tag = 0;
    call.receive_tag = any_rank;
    call.type = 3;
    call.operation = 4;
    call.sent_counts = 5;
    call.received_counts = 6;
    call.completed = 2;
    call.in_place = true;
    call.requests = {0, 200, 70000};
    const Thread thread = recorded([&](Stream& stream) {
        stream.add(call, {1, 2, 3, 0}, false, 12);
        stream.add(Call{}, {4, 5, 6, 0}, false, 12);
    });
    EXPECT_EQ(thread.began, 7u);
    EXPECT_FALSE(thread.truncated);
    EXPECT_THAT(thread.calls, ElementsAre(call, Call{}));
    ASSERT_THAT(thread.sequence, SizeIs(2));
    EXPECT_THAT(thread.sequence[0].times.samples, ElementsAre(std::pair(std::uint64_t{0}, Time{1, 2, 3, 0})));
}

TEST(Recording, RepeatedRunsBecomeNestedLoops) {
    std::vector<std::uint32_t> sites{9};
    for (int outer = 0; outer < 50; ++outer) {
        sites.push_back(1);
        for (int inner = 0; inner < 20; ++inner) sites.insert(sites.end(), {2, 3, 2});
        sites.push_back(4);
    }
    const Thread thread = record(sites);
    EXPECT_EQ(sites_of(thread), sites);
    EXPECT_EQ(thread.count(), sites.size());
    // The loops may begin anywhere in their bodies.
    std::size_t nodes = 0;
    visit_nodes(thread.sequence, [&](const Node&) { ++nodes; });
    EXPECT_LT(nodes, 40u);
}

TEST(Recording, RandomSequencesAreUnfoldedAsTheyWere) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        // Few sites make many repetitions; loops with random numbers of passes are put among them.
        const std::uint32_t kinds = 1 + random() % 4;
        std::vector<std::uint32_t> sites;
        while (sites.size() < 300) {
            std::vector<std::uint32_t> body(1 + random() % 5);
            for (auto& site : body) site = static_cast<std::uint32_t>(1 + random() % kinds);
            for (auto pass = 1 + random() % 6; pass > 0; --pass)
                sites.insert(sites.end(), body.begin(), body.end());
        }
        const std::size_t window = 4 << random() % 6;
        const Thread thread = record(sites, window);
        ASSERT_EQ(sites_of(thread), sites) << "round " << round << ", window " << window;
        // Times: the occurrences of all nodes are all calls.
        std::uint64_t sum = 0;
        visit_nodes(thread.sequence, [&](const Node& node) { sum += node.times.sum.inside; });
        ASSERT_EQ(sum, sites.size() * (sites.size() - 1) / 2);
    }
}

TEST(Recording, TimesOfALoopAreSummarized) {
    const Thread thread = record(std::vector<std::uint32_t>(1000, 5));
    ASSERT_THAT(thread.sequence, SizeIs(1));
    const Node& loop = thread.sequence[0];
    EXPECT_EQ(loop.passes.at(0), 1000u);
    ASSERT_THAT(loop.body, SizeIs(1));
    const Times& times = loop.body[0].times;
    EXPECT_EQ(times.count, 1000u);
    EXPECT_EQ(times.sum, (Time{999u * 500, 999u * 500, 999u * 500, 0}));
    EXPECT_EQ(times.min_inside, 0u);
    std::vector<std::uint64_t> occurrences;
    for (const auto& [occurrence, time] : times.samples) {
        EXPECT_EQ(time.processor, occurrence);
        occurrences.push_back(occurrence);
    }
    EXPECT_THAT(occurrences, ElementsAre(0, 128, 256, 384, 512, 640, 768, 896));
}

TEST(Recording, FruitlessTestsBelongToTheOneThatSucceeds) {
    Call test = call_at(1);
    test.requests = {0};
    Call complete = test;
    complete.completed = 1;
    const Thread thread = recorded([&](Stream& stream) {
        for (int i = 0; i < 3; ++i) stream.add(test, {10, 20, 1, 0}, true, 0);
        stream.add(complete, {10, 20, 5, 0}, false, 0);
        for (int i = 0; i < 2; ++i) stream.add(test, {10, 20, 1, 0}, true, 0);
        stream.add(call_at(2), {1, 1, 1, 0}, false, 0);
    });
    EXPECT_THAT(thread.calls, ElementsAre(complete, test, call_at(2)));
    ASSERT_THAT(thread.sequence, SizeIs(3));
    EXPECT_EQ(thread.sequence[0].times.samples[0].second, (Time{40, 80, 8, 3}));
    EXPECT_EQ(thread.sequence[1].times.samples[0].second, (Time{20, 40, 2, 1}));
}

// An iteration of conjugate gradients on 8 neighbours: halo, product, two reductions.
void add_iteration(Stream& stream, std::mt19937& random) {
    const auto add = [&](const Call& call, bool fruitless = false) {
        const std::uint64_t wall = 1000 + random() % 1'000'000;
        stream.add(call, {wall - random() % 500, wall, 200 + random() % 100'000, 0}, fruitless, 0);
    };
    Call wait = call_at(3);
    for (std::uint32_t request = 0; request < 16; ++request) {
        Call call = call_at(request < 8 ? 1 : 2);
        (request < 8 ? call.source : call.peer) = static_cast<int>(request % 8);
        call.requests = {request};
        wait.requests.push_back(request);
        add(call);
    }
    for (auto polls = random() % 5; polls > 0; --polls) add(wait, true);
    wait.completed = 16;
    add(wait);
    for (const std::uint32_t site : {4, 5}) add(call_at(site));
}

TEST(Recording, IterationsTakeNoRoom) {
    const TemporaryFolder folder;
    Stream stream(folder.path() / "rank-0.0", 0);
    std::mt19937 random(1);
    // The number of iterations of each solve differs. Between solves there are two loops and no other call.
    std::uint64_t iterations = 0;
    std::uint64_t broadcasts = 0;
    std::uint64_t before = 0;
    constexpr std::uint64_t solves = 200;
    for (std::uint64_t solve = 0; solve < solves; ++solve) {
        const std::uint64_t count = 50 + random() % 50;
        for (std::uint64_t i = 0; i < count; ++i) add_iteration(stream, random);
        for (std::uint64_t i = 0; i < 3 + solve % 4; ++i, ++broadcasts)
            stream.add(call_at(6), {1'000'000, 1'000'000, 1000, 0}, false, 0);
        iterations += count;
    }
    stream.close();
    const std::uint64_t bytes = contents_of(folder.path() / "rank-0.0.calls").size();
    // An hour has 3.6 million iterations of 1 ms, in 48,000 such solves: 50 MB are 1 KB for each.
    EXPECT_LT(bytes, 10'000u);
    const Thread thread = read(folder.path() / "rank-0.0");
    EXPECT_EQ(thread.count(), iterations * 19 + broadcasts);
    unfold(thread, [&](const Call&, const Times&, std::uint64_t) { ++before; });
    EXPECT_EQ(before, thread.count());
}

TEST(Recording, CallsThatNeverRepeatTakeLessThanAHundredBytesEach) {
    const TemporaryFolder folder;
    Stream stream(folder.path() / "rank-0.0", 0);
    std::mt19937_64 random(1);
    constexpr std::uint64_t calls = 50'000;
    for (std::uint64_t i = 0; i < calls; ++i) {
        Call call = call_at(static_cast<std::uint32_t>(random() % 1000));
        call.sent = random() >> 24;
        call.peer = static_cast<int>(random() % 100'000);
        call.tag = static_cast<int>(random() % 1'000'000);
        call.requests = {static_cast<std::uint32_t>(random() % 10'000)};
        const std::uint64_t time = random() >> 24;
        stream.add(call, {time, time, time, 0}, false, 0);
    }
    EXPECT_LT(stream.bytes(), 100 * calls);
    stream.close();
    EXPECT_LT(contents_of(folder.path() / "rank-0.0.calls").size(), 100 * calls);
    EXPECT_EQ(read(folder.path() / "rank-0.0").count(), calls);
}

TEST(Recording, AFileThatEndsAnywhereIsReadAsFarAsItGoes) {
    const TemporaryFolder folder;
    Stream stream(folder.path() / "rank-0.0", 0, 4);
    std::vector<std::uint32_t> sites;
    for (std::uint32_t i = 0; i < 40; ++i) {
        sites.push_back(1 + i * 7 % 11);
        stream.add(call_at(sites.back()), {i, i, i, 0}, false, 0);
    }
    stream.close();
    const std::string all = contents_of(folder.path() / "rank-0.0.calls");
    std::size_t before = 0;
    for (std::size_t length = sizeof(StreamHeader); length <= all.size(); ++length) {
        Thread thread;
        read_thread(std::string_view(all).substr(0, length), "", thread);
        const std::vector<std::uint32_t> found = sites_of(thread);
        ASSERT_LE(before, found.size());
        before = found.size();
        ASSERT_TRUE(std::equal(found.begin(), found.end(), sites.begin()));
    }
    EXPECT_EQ(before, sites.size());
    Thread thread;
    EXPECT_THROW(read_thread("lwcalls2", "", thread), Error);
    EXPECT_THROW(read_thread(std::string(24, 'x'), "", thread), Error);
    // A byte that has changed.
    std::string damaged = all;
    damaged[all.size() - 1] ^= 1;
    read_thread(damaged, "", thread);
    EXPECT_TRUE(thread.truncated);
    EXPECT_LT(thread.count(), sites.size());
}

TEST(Recording, TheTailOfAKilledRankIsRead) {
    const TemporaryFolder folder;
    Stream stream(folder.path() / "rank-0.0", 0, 4);
    std::vector<std::uint32_t> sites;
    const auto add = [&](std::uint32_t site, std::uint64_t now) {
        sites.push_back(site);
        stream.add(call_at(site), {}, false, now);
    };
    for (std::uint32_t i = 0; i < 30; ++i) add(1 + i * 7 % 11, 0);
    add(20, 3'600'000'000'000);  // writes the tail
    const std::vector<std::uint32_t> with_tail = sites;
    const Thread at_once = read(folder.path() / "rank-0.0", true);
    EXPECT_EQ(sites_of(at_once), sites);
    EXPECT_TRUE(at_once.truncated);
    // More blocks than the tail knows.
    for (std::uint32_t i = 0; i < 30; ++i) add(1 + i * 7 % 13, 0);
    EXPECT_EQ(sites_of(read(folder.path() / "rank-0.0", true)), with_tail);
    EXPECT_EQ(stream.close(), "");
    EXPECT_FALSE(fs::exists(folder.path() / "rank-0.0.tail"));
    EXPECT_EQ(sites_of(read(folder.path() / "rank-0.0")), sites);
}

// The groups of ranks on these machines, with these processors: "0-1 on 0; ...".
std::string shared(const std::vector<std::pair<std::string, std::vector<int>>>& places) {
    Recording recording;
    for (const auto& [machine, processors] : places) {
        Rank& rank = recording.each.emplace_back();
        rank.rank = static_cast<int>(recording.each.size()) - 1;
        rank.machine = machine;
        rank.processors = processors;
    }
    std::string text;
    for (const SharedProcessors& one : shared_processors(recording)) {
        text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", print_processors(one.ranks),
                            print_processors(one.processors));
    }
    return text;
}

TEST(Recording, RanksThatOutnumberTheirProcessorsShareThem) {
    const std::vector<int> both = {0, 1};
    EXPECT_EQ(shared({{"a", both}, {"a", both}}), "");
    EXPECT_EQ(shared({{"a", both}, {"a", both}, {"a", both}}), "0-2 on 0-1");
    // The same numbers on another machine are other processors.
    EXPECT_EQ(shared({{"a", both}, {"b", both}, {"a", both}}), "");
    EXPECT_EQ(shared({{"b", {0}}, {"a", {0}}, {"b", {0}}, {"a", {0}}}), "0,2 on 0; 1,3 on 0");
    // Bound ranks share with those that are bound to the same processor.
    EXPECT_EQ(shared({{"a", {0}}, {"a", {1}}, {"a", {0}}, {"a", {2}}}), "0,2 on 0");
    // The third rank joins the groups of the first two.
    EXPECT_EQ(shared({{"a", {0}}, {"a", {1}}, {"a", both}, {"a", {4, 5}}}), "0-2 on 0-1");
    EXPECT_EQ(shared({{"", {}}, {"", {}}}), "");
}

TEST(Recording, ADirectoryIsRead) {
    const TemporaryFolder folder;
    const auto write = [&](const char* name, const std::string& text) {
        std::ofstream(folder.path() / name) << text;
    };
    EXPECT_THROW(read_recording(folder.path()), Error);
    write("rank-2.facts", R"({"fact":"rank","rank":2,"ranks":4,"host":"a","processor":"p","mpi":"m"}
{"fact":"group","number":1,"agreed":1,"rank":2,"members":[0,1,2,3],"sources":[1],"destinations":[3]}
{"fact":"site","number":5,"function":"MPI_Barrier","module":"/bin/x","offset":16,"symbol":"main"}
{"fact":"counts","number":1,"sum":6,"all":[3,3,0]}
{"fact":"type","number":1,"name":"MPI_DOUBLE","bytes":8}
{"fact":"operation","number":1,"name":"MPI_SUM"}
{"fact":"clock","when":"begin","at":5,"offset":-3,"error":1}
{"fact":"cl)");
    Stream stream(folder.path() / "rank-2.0", 0);
    stream.add(call_at(5), {}, false, 0);
    stream.close();
    write("job.json", R"({"command":"mpirun x","date":"today"})");
    const Recording recording = read_recording(folder.path());
    EXPECT_EQ(recording.ranks, 4);
    EXPECT_EQ(recording.command, "mpirun x");
    ASSERT_THAT(recording.each, SizeIs(1));
    const Rank& rank = recording.each[0];
    EXPECT_EQ(rank.rank, 2);
    EXPECT_EQ(rank.communicators.at(1).members, (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(rank.communicators.at(1).destinations, std::vector{3});
    EXPECT_EQ(rank.sites.at(5).symbol, "main");
    EXPECT_EQ(rank.counts.at(1).all, (std::vector<std::uint64_t>{3, 3, 0}));
    EXPECT_EQ(rank.types.at(1).bytes, 8u);
    EXPECT_EQ(rank.operations.at(1), "MPI_SUM");
    EXPECT_EQ(rank.machine, "");
    EXPECT_THAT(rank.processors, IsEmpty());
    EXPECT_THAT(shared_processors(recording), IsEmpty());
    write("rank-0.facts",
          R"({"fact":"rank","rank":0,"ranks":4,"machine":"7f","processors":"0,2-3","online":8})");
    const Rank located = read_recording(folder.path()).each.at(0);
    EXPECT_EQ(located.machine, "7f");
    EXPECT_EQ(located.processors, (std::vector{0, 2, 3}));
    EXPECT_EQ(located.online, 8);
    EXPECT_FALSE(rank.ended);
    EXPECT_TRUE(rank.threads.at(0).truncated);
    // A call at a site that has no definition.
    Stream other(folder.path() / "rank-2.0", 0);
    other.add(call_at(6), {}, false, 0);
    other.close();
    EXPECT_THROW(read_recording(folder.path()), Error);
}

}  // namespace
}  // namespace lapwing::recording
