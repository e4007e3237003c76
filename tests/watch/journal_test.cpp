#include "watch/journal.hpp"

#include "support/unit.hpp"
#include "watch/symbols.hpp"

namespace lapwing::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const char* const types[] = {"", "MPI_INT", "MPI_DOUBLE"};
const char* const operations[] = {"", "MPI_SUM"};

// The process has one journal; each test uses communicators of its own.
class JournalTest : public testing::Test {
  protected:
    JournalTest() {
        journal().begin(
            3, {.any_source = -7, .proc_null = -8, .any_tag = -9, .types = types, .operations = operations});
    }
    static CommunicatorRecord& add(std::uint64_t handle, const std::vector<int>& members) {
        return *journal().add(handle, 0, members, {{}, ++creations_});
    }
    static CommunicatorSnapshot shown(const CommunicatorRecord& record) {
        for (const CommunicatorSnapshot& one : journal().snapshot().communicators)
            if (one.id == record.id()) return one;
        return {};
    }
    static inline std::uint64_t creations_ = 0;
};

std::uint64_t broadcast(CommunicatorRecord& record, std::uint64_t bytes = 8, int root = 0) {
    const CallArguments arguments{.collective = Collective::broadcast, .root = root};
    return record.call(arguments.what(Form::nonblocking), bytes, "MPI_Ibcast", nullptr);
}

std::vector<std::uint64_t> numbers(const CommunicatorSnapshot& communicator) {
    std::vector<std::uint64_t> all;
    for (const CollectiveCall& call : communicator.recent) all.push_back(call.number);
    return all;
}

TEST_F(JournalTest, ShowsTheArgumentsOfACall) {
    CommunicatorRecord& record = add(100, {0, 1, 2, 3, 7});
    const CallArguments arguments{.collective = Collective::reduce, .root = 2, .type = 2, .operation = 1};
    const std::uint64_t serial =
        record.call(arguments.what(Form::blocking), 24, "MPI_Reduce", nullptr, CallRecord::by_lapwing);
    const CommunicatorSnapshot communicator = shown(record);
    EXPECT_EQ(communicator.name, "communicator 0 of ranks 0-3, 7");
    EXPECT_EQ(communicator.calls, 1u);
    ASSERT_THAT(communicator.recent, SizeIs(1));
    const CollectiveCall& call = communicator.recent[0];
    EXPECT_EQ(call.arguments.root, 2);
    EXPECT_EQ(call.arguments.type, "MPI_DOUBLE");
    EXPECT_EQ(call.arguments.operation, "MPI_SUM");
    EXPECT_TRUE(call.by_lapwing);
    EXPECT_TRUE(call.in_flight);
    record.completed(serial);
    EXPECT_FALSE(shown(record).recent[0].in_flight);
}

TEST_F(JournalTest, KeepsTheLastCallsAndEarlierOnesInFlight) {
    CommunicatorRecord& record = add(101, {0, 2});
    const std::uint64_t first = broadcast(record);
    const std::uint64_t second = broadcast(record);
    record.completed(second);
    for (int i = 0; i < 20; ++i) record.completed(broadcast(record));
    CommunicatorSnapshot communicator = shown(record);
    EXPECT_EQ(communicator.calls, 22u);
    EXPECT_THAT(numbers(communicator),
                ElementsAre(1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22));
    EXPECT_TRUE(communicator.recent[0].in_flight);
    record.completed(first);
    EXPECT_THAT(numbers(shown(record)), SizeIs(16));
}

TEST_F(JournalTest, HasTheBlocksOfTheLastCallWhoseBlocksDiffer) {
    CommunicatorRecord& record = add(170, {0, 2, 4});
    const auto call = [&record](Collective collective, Parts parts) {
        const std::uint64_t serial =
            record.call(CallArguments{.collective = collective}.what(Form::nonblocking), 0, "", nullptr);
        record.blocks(serial, {.collective = collective, .ranks = 3, .parts = {std::move(parts)}});
    };
    call(Collective::alltoallv, {{{1, 0, 8}, {2, 8, 16}}, {{0, 0, 24}, {1, 24, 32}}});
    const auto arguments = [&record](std::size_t i) { return shown(record).recent.at(i).arguments; };
    // Without the rank's own blocks.
    EXPECT_THAT(arguments(0).sent, ElementsAre(0, 8, 16));
    EXPECT_THAT(arguments(0).received, ElementsAre(0, 32, 0));
    broadcast(record);
    EXPECT_THAT(arguments(0).sent, SizeIs(3));
    EXPECT_THAT(arguments(1).sent, IsEmpty());
    call(Collective::allgatherv, {{{0, 0, 8}}, {{0, 0, 8}, {1, 8, 16}, {2, 24, 0}}});
    EXPECT_THAT(arguments(0).sent, IsEmpty());
    EXPECT_THAT(arguments(2).sent, ElementsAre(0, 8, 8));
    EXPECT_THAT(arguments(2).received, ElementsAre(0, 16, 0));
}

TEST_F(JournalTest, PersistentCollectivesAreInFlightFromStartToStop) {
    CommunicatorRecord& record = add(102, {0, 3});
    const std::uint64_t init =
        record.call(CallArguments().what(Form::persistent_init), 0, "MPI_Barrier_init", nullptr);
    CallRecord* const starts = record.persistent(init, true);
    EXPECT_FALSE(shown(record).recent[0].in_flight);
    for (int i = 0; i < 20; ++i) record.completed(broadcast(record));
    EXPECT_EQ(numbers(shown(record)).front(), 6u);
    starts->start();
    starts->stop();
    starts->start();
    const CollectiveCall call = shown(record).recent.front();
    EXPECT_EQ(call.number, 1u);
    EXPECT_TRUE(call.in_flight);
    EXPECT_TRUE(call.by_lapwing);
    record.release_persistent(init);
    EXPECT_EQ(numbers(shown(record)).front(), 6u);
}

TEST_F(JournalTest, TheHashDependsOnOrderAndArguments) {
    std::uint64_t handle = 103;
    // Of broadcasts of so many bytes from these roots.
    const auto hash = [&](const std::vector<std::pair<std::uint64_t, int>>& calls) {
        CommunicatorRecord& record = add(handle++, {0, 4});
        for (const auto& [bytes, root] : calls) broadcast(record, bytes, root);
        return shown(record).hash;
    };
    EXPECT_EQ(hash({{8, 0}, {16, 0}, {24, 0}}), hash({{8, 0}, {16, 0}, {24, 0}}));
    EXPECT_NE(hash({{8, 0}, {16, 0}, {24, 0}}), hash({{8, 0}, {24, 0}, {16, 0}}));
    EXPECT_NE(hash({{8, 0}, {8, 1}}), hash({{8, 0}, {8, 0}}));
}

TEST_F(JournalTest, ParentNumberAndMembersIdentifyACommunicator) {
    std::set<CommunicatorId> ids;
    std::uint64_t handle = 500;
    const auto add = [&](const Journal::Creation& creation, const std::vector<int>& members) {
        return journal().add(++handle, 0, members, creation);
    };
    const std::vector<std::vector<int>> all = {{2}, {2, 3}, {3, 2}, {0, 1}, {3, 2, 1},
                                               {4}, {2, 5}, {7},    {2, 6}};
    for (const auto& members : all) {
        for (const std::uint64_t number : {1, 2}) {
            const CommunicatorRecord* const one = add({{5, 6}, number}, members);
            EXPECT_TRUE(ids.insert(one->id()).second);
            EXPECT_TRUE(ids.insert(add({one->id(), number}, members)->id()).second);
            EXPECT_EQ(add({{5, 6}, number}, members)->id(), one->id());
        }
    }
}

TEST_F(JournalTest, CreationsAreNumberedForEachParent) {
    const CommunicatorRecord& one = add(150, {0, 1});
    const CommunicatorRecord& two = add(151, {0, 1});
    EXPECT_EQ(journal().creation(150)->number, 1u);
    EXPECT_EQ(journal().creation(151)->number, 1u);
    EXPECT_EQ(journal().creation(150)->number, 2u);
    EXPECT_EQ(journal().creation(150)->parent, one.id());
    EXPECT_EQ(journal().creation(151)->parent, two.id());
    EXPECT_FALSE(journal().creation(152));
}

// Ranks may only rely on an identity that all of them have.
TEST_F(JournalTest, AChildOfACommunicatorThatSomeRanksDoNotKnowHasNoIdEverywhere) {
    const auto add_made_by = [](std::uint64_t handle, Journal::Creation creation) -> CommunicatorRecord& {
        return *journal().add(handle, 0, {0, 1}, creation);
    };
    EXPECT_TRUE(add(160, {0, 1}).has_id_everywhere());
    EXPECT_TRUE(add_made_by(161, *journal().creation(160)).has_id_everywhere());
    Journal::Creation creation = *journal().creation(160);
    creation.everywhere = false;
    EXPECT_FALSE(add_made_by(162, creation).has_id_everywhere());
    EXPECT_FALSE(add_made_by(163, *journal().creation(162)).has_id_everywhere());
    // The record is used again.
    journal().remove(163);
    EXPECT_TRUE(add_made_by(163, *journal().creation(161)).has_id_everywhere());
}

TEST_F(JournalTest, AFreedCommunicatorIsShownUntilItsCallsAreComplete) {
    CommunicatorRecord& record = add(120, {1, 3});
    const std::uint64_t serial = broadcast(record);
    const CommunicatorId id = record.id();
    journal().remove(120);
    const auto is_shown = [id] {
        const RankSnapshot snapshot = journal().snapshot();
        return std::ranges::any_of(snapshot.communicators, [id](const auto& one) { return one.id == id; });
    };
    EXPECT_TRUE(is_shown());
    record.completed(serial);
    EXPECT_FALSE(is_shown());
    // The record is used again, and the old call's number means nothing in it.
    CommunicatorRecord& next = add(121, {1, 4});
    EXPECT_EQ(&next, &record);
    record.completed(serial);
    EXPECT_THAT(shown(next).recent, IsEmpty());
    EXPECT_EQ(shown(next).calls, 0u);
    EXPECT_EQ(broadcast(next), serial + 1);
    EXPECT_THAT(numbers(shown(next)), ElementsAre(1));
}

TEST_F(JournalTest, AHandleIsFoundUntilItsCommunicatorIsFreed) {
    CommunicatorRecord& record = add(130, {1, 5});
    EXPECT_EQ(journal().find(130), &record);
    journal().remove(130);
    EXPECT_EQ(journal().find(130), nullptr);
}

TEST_F(JournalTest, ShowsTheOutermostCallOfAThread) {
    CommunicatorRecord& record = add(140, {1, 6});
    const std::uint64_t serial = broadcast(record);
    {
        const InCall outer("MPI_Recv", nullptr, 140, -7, 5);
        const InCall inner("MPI_Send", nullptr, 140, 1, 6);
        const RankSnapshot snapshot = journal().snapshot();
        ASSERT_THAT(snapshot.current, SizeIs(1));
        EXPECT_EQ(snapshot.current[0].function, "MPI_Recv");
        EXPECT_EQ(snapshot.current[0].peer, -2);
    }
    {
        const InCall wait("MPI_Wait", nullptr);
        InCall::waits_for({&record, serial});
        EXPECT_THAT(journal().snapshot().current.at(0).waits_for, ElementsAre(1));
        record.completed(serial);
        EXPECT_THAT(journal().snapshot().current.at(0).waits_for, IsEmpty());
    }
    EXPECT_EQ(journal().snapshot().last.function, "MPI_Wait");
}

TEST_F(JournalTest, CallsOnAWindowAreThoseOfItsCommunicator) {
    add(145, {1, 7});
    journal().add_made_from(145, 9145);
    const InCall fence("MPI_Win_fence", nullptr, 9145);
    EXPECT_GE(journal().snapshot().current[0].communicator, 0);
    journal().remove(145);
    EXPECT_EQ(journal().snapshot().current[0].communicator, -1);
}

TEST_F(JournalTest, AWaitingThreadPublishesPositions) {
    CommunicatorRecord& record = add(150, {2, 6});
    const std::uint64_t serial = broadcast(record);
    std::atomic<bool> waits{false};
    std::atomic<bool> end{false};
    std::thread waiter([&] {
        const InCall wait("MPI_Wait", nullptr);
        InCall::waits_for({&record, serial});
        waits = true;
        while (!end) {
            if (!journal().wants_positions()) continue;
            journal().publish({{{&record, serial}, {"host", 3, 9, {1}}}});
        }
    });
    while (!waits) std::this_thread::yield();
    const RankSnapshot snapshot = journal().snapshot(Lines::find, 60'000'000'000);
    end = true;
    waiter.join();
    const CollectiveCall& call = snapshot.communicators.back().recent.at(0);
    EXPECT_EQ(call.position.engine, "host");
    EXPECT_EQ(call.position.task, 3u);
    EXPECT_THAT(call.position.awaited, ElementsAre(1));
    // No thread waits: the position is no longer valid.
    EXPECT_EQ(shown(record).recent.at(0).position.engine, "");
}

// Each call's arguments repeat its number, so a reader would see a mixture of two calls.
TEST_F(JournalTest, ReadersSeeWholeCallsWhileThreadsWrite) {
    constexpr int threads = 2;
    constexpr std::uint64_t calls = LAPWING_TEST_FEWER ? 2'000 : 50'000;
    std::vector<CommunicatorRecord*> records;
    for (int i = 0; i < threads; ++i)
        records.push_back(&add(160 + static_cast<std::uint64_t>(i), {5, 6 + i}));
    std::vector<std::thread> writers;
    std::atomic<int> writing{threads};
    for (CommunicatorRecord* record : records) {
        writers.emplace_back([record, &writing] {
            std::uint64_t last = 0;
            for (std::uint64_t number = 1; number <= calls; ++number) {
                const InCall inside("MPI_Bcast", nullptr, number, static_cast<int>(number),
                                    static_cast<int>(number));
                const std::uint64_t serial = broadcast(*record, number, static_cast<int>(number));
                // Some calls stay in flight until the ring has overwritten them.
                if (number % 40 != 0) {
                    record->completed(serial);
                    continue;
                }
                if (last != 0) record->completed(last);
                last = serial;
            }
            if (last != 0) record->completed(last);
            --writing;
        });
    }
    std::uint64_t seen = 0;
    do {
        const RankSnapshot snapshot = journal().snapshot(Lines::none, 0);
        for (const CurrentCall& call : snapshot.current) EXPECT_EQ(call.peer, call.tag);
        for (const CommunicatorSnapshot& one : snapshot.communicators) {
            if (one.members.front().first != 5) continue;
            for (const CollectiveCall& call : one.recent) {
                EXPECT_EQ(call.number, call.arguments.bytes);
                EXPECT_EQ(call.number, static_cast<std::uint64_t>(call.arguments.root));
                ++seen;
            }
        }
    } while (writing > 0 || seen == 0);  // the writers may begin late
    for (std::thread& writer : writers) writer.join();
    for (const CommunicatorRecord* record : records) {
        const CommunicatorSnapshot communicator = shown(*record);
        EXPECT_EQ(communicator.calls, calls);
        for (const CollectiveCall& call : communicator.recent) EXPECT_FALSE(call.in_flight) << call.number;
    }
}

[[gnu::noinline]] const void* address_here() {
    return __builtin_return_address(0);
}

TEST(SourceLines, FindsTheLineOrTheModule) {
    SourceLines lines;
    const void* const here = address_here();
    EXPECT_THAT(lines.before(here),
                testing::AnyOf(HasSubstr("journal_test.cpp:"), HasSubstr("watch_test+0x")));
    EXPECT_EQ(lines.before(nullptr), "");
    EXPECT_THAT(lines.before(reinterpret_cast<const void*>(std::uintptr_t{16})), HasSubstr("0x"));
}

// A thread's own objects end before the thread does, and may call MPI.
TEST_F(JournalTest, ShowsCallsOfDestructorsAtTheEndOfAThread) {
    static std::atomic<int> shown{0};
    struct Later {
        void begin() {}
        ~Later() {
            const InCall inside("MPI_Win_free", nullptr);
            shown += static_cast<int>(
                std::ranges::count(journal().snapshot().current, "MPI_Win_free", &CurrentCall::function));
        }
    };
    const auto records = [] {
        int count = 0;
        for (const ThreadRecord* one = thread_records; one != nullptr; one = one->next) ++count;
        return count;
    };
    const int before = records();
    for (int i = 0; i < 3; ++i) {
        std::thread([] {
            static thread_local Later later;
            later.begin();  // made before the thread's record
            const InCall inside("MPI_Barrier", nullptr);
        }).join();
    }
    EXPECT_EQ(shown, 3);
    // The records of threads that have ended are used again.
    EXPECT_LE(records(), before + 1);
}

}  // namespace
}  // namespace lapwing::watch
