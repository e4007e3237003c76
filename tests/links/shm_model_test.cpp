// The protocol of the shared memory in every order of its steps, with two and three ranks: every message
// arrives, whole and in order, and nobody sleeps for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "links/explorer.hpp"
#include "links/shm/protocol_steps.hpp"

// Its threads are contexts that sanitizers do not know.
#if !LAPWING_TEST_FEWER

namespace lapwing::shm {
namespace {

using test::Explorer;

struct Model {
    template <typename Value>
    using Word = test::Explored<Value>;

    class Mutex {
      public:
        void lock() {
            for (;;) {
                const std::uint64_t writes = Explorer::writes();
                if (held_.exchange(1) == 0) return;
                Explorer::pause(writes);
            }
        }
        void unlock() { held_.store(0); }

      private:
        Word<std::uint32_t> held_;
    };

    static void fence() {}
    static void writes(const void*, std::uint64_t) {}
    static void reads(const void*, std::uint64_t) {}
    static void wake(Word<std::uint32_t>& word) { Explorer::wake(&word); }
    // Nobody sleeps at a pipe here.
    static void wake(int) {}
    // A ring that is lost is a sleep for ever: there is no limit.
    static void sleep(const Word<std::uint32_t>& word, std::uint32_t value, long) {
        Explorer::point(false);
        if (word.peek() == value) Explorer::sleep(&word);
    }
    static std::uint64_t nanoseconds() { return 1; }
    // The system refuses copies after so many of them.
    static inline int copies_left = INT_MAX;
    static bool refuses() {
        if (copies_left == 0) return true;
        --copies_left;
        return false;
    }
    static int copy_from(pid_t, std::uint64_t address, std::byte* target, std::uint64_t bytes) {
        Explorer::point(false);
        if (refuses()) return EPERM;
        std::memcpy(target, reinterpret_cast<const void*>(address), bytes);
        return 0;
    }
    static int copy_to(pid_t, std::uint64_t address, const std::byte* source, std::uint64_t bytes) {
        Explorer::point(false);
        if (refuses()) return EPERM;
        std::memcpy(reinterpret_cast<void*>(address), source, bytes);
        return 0;
    }
};

using Bytes = std::vector<std::byte>;

Bytes model_message(std::size_t bytes, int number) {
    Bytes made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<std::byte>(i * 3 + static_cast<std::size_t>(number) * 31 + 1);
    return made;
}

// Which ranks may copy from and to the memory of others.
struct Direct {
    Direct(bool all) : first(all), others(all) {}
    Direct(bool rank_0, bool all_others) : first(rank_0), others(all_others) {}
    bool first, others;
};

// A small host, new for each schedule.
struct World {
    World(int ranks, const Geometry& geometry, Direct direct) : doorbells(static_cast<std::size_t>(ranks)) {
        const auto count = static_cast<std::size_t>(ranks);
        for (std::size_t pair = 0; pair < count * count; ++pair) {
            memory.emplace_back(new (std::align_val_t(128)) std::byte[Fifo<Model>::bytes(geometry)]());
            fifos.push_back(Fifo<Model>::at(memory.back().get(), geometry));
        }
        for (std::size_t rank = 0; rank < count; ++rank) {
            std::vector<Protocol<Model>::Neighbor> places;
            for (std::size_t other = 0; other < count; ++other) {
                Protocol<Model>::Neighbor place;
                place.to = fifos[rank * count + other];
                place.from = fifos[other * count + rank];
                place.doorbell = &doorbells[other];
                place.rank = static_cast<int>(other);
                place.copies_directly = rank == 0 ? direct.first : direct.others;
                places.push_back(place);
            }
            protocol.push_back(std::make_unique<Protocol<Model>>(places, doorbells[rank]));
        }
    }
    struct Free {
        void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(128)); }
    };
    std::vector<std::unique_ptr<std::byte[], Free>> memory;
    std::vector<Fifo<Model>> fifos;
    std::vector<Doorbell<Model>> doorbells;
    std::vector<std::unique_ptr<Protocol<Model>>> protocol;
};

// How a rank waits: it sleeps, or it looks again when somebody has done something.
void wait(Protocol<Model>& protocol, Link::Transfer& transfer, bool sleeps) {
    for (;;) {
        const std::uint64_t writes = Explorer::writes();
        if (protocol.test(transfer)) break;
        if (sleeps) protocol.sleep(0);
        Explorer::pause(writes);
    }
}

// Rank 0 sends messages of these lengths to all others, which send one of the first length back.
struct Play {
    int ranks;
    std::vector<std::size_t> lengths;
    Geometry geometry;
    Direct direct;
    bool sleeps;
    int copies = INT_MAX;  // that the system permits

    std::vector<std::function<void()>> operator()() const {
        Model::copies_left = copies;
        auto world = std::make_shared<World>(ranks, geometry, direct);
        std::vector<std::function<void()>> threads;
        threads.emplace_back([world, play = *this] {
            Protocol<Model>& protocol = *world->protocol[0];
            std::vector<Bytes> sent;
            for (std::size_t i = 0; i < play.lengths.size(); ++i)
                sent.push_back(model_message(play.lengths[i], static_cast<int>(i)));
            std::vector<Link::Transfer> transfers;
            transfers.reserve(sent.size() * static_cast<std::size_t>(play.ranks));
            for (int other = 1; other < play.ranks; ++other) {
                for (const Bytes& bytes : sent)
                    protocol.send(other, 1, 0, bytes.data(), bytes.size(), transfers.emplace_back());
            }
            protocol.flush();
            for (int other = 1; other < play.ranks; ++other) {
                Bytes answer(play.lengths.front());
                Link::Transfer receive;
                protocol.recv(other, 1, 0, answer.data(), answer.size(), receive);
                wait(protocol, receive, play.sleeps);
                if (answer != model_message(answer.size(), other)) Explorer::fail("the answer is wrong");
            }
            for (Link::Transfer& transfer : transfers) wait(protocol, transfer, play.sleeps);
        });
        for (int rank = 1; rank < ranks; ++rank) {
            threads.emplace_back([world, play = *this, rank] {
                Protocol<Model>& protocol = *world->protocol[static_cast<std::size_t>(rank)];
                std::vector<Bytes> received;
                std::vector<Link::Transfer> transfers(play.lengths.size());
                for (std::size_t i = 0; i < play.lengths.size(); ++i) {
                    received.emplace_back(play.lengths[i]);
                    protocol.recv(0, 1, 0, received[i].data(), received[i].size(), transfers[i]);
                }
                for (std::size_t i = 0; i < transfers.size(); ++i) {
                    wait(protocol, transfers[i], play.sleeps);
                    if (received[i] != model_message(play.lengths[i], static_cast<int>(i)))
                        Explorer::fail("a message is wrong");
                }
                const Bytes answer = model_message(play.lengths.front(), rank);
                Link::Transfer send;
                protocol.send(0, 1, 0, answer.data(), answer.size(), send);
                protocol.flush();
                wait(protocol, send, play.sleeps);
            });
        }
        return threads;
    }
};

constexpr Geometry tiny{.slots = 2, .payload = 256, .tickets = 1, .chunk = 80, .max_in_pieces = 0};
// Receivers copy themselves whenever there is no piece.
constexpr Geometry mixed{.slots = 2, .payload = 256, .tickets = 1, .chunk = 80, .patience = 0};
constexpr Geometry measuring{
    .slots = 2, .payload = 256, .tickets = 2, .chunk = 80, .measures_ways = true, .patience = 0};

void expect_all_right(const Play& play, int preemptions, std::uint64_t least) {
    const Explorer::Result result = Explorer::explore(play, preemptions);
    EXPECT_EQ(result.failure, "") << "in schedule " << result.schedules;
    EXPECT_GE(result.schedules, least);
    testing::Test::RecordProperty("schedules", static_cast<int>(result.schedules));
}

TEST(ShmModel, TwoRanksShortMessages) {
    for (const bool sleeps : {false, true})
        expect_all_right({2, {8, 0, 60, 64, 8}, tiny, true, sleeps}, 2, 900);
}

TEST(ShmModel, TwoRanksLongMessagesCopiedByBoth) {
    for (const bool sleeps : {false, true}) expect_all_right({2, {8, 200, 100}, tiny, true, sleeps}, 2, 900);
}

TEST(ShmModel, TwoRanksLongMessagesInPieces) {
    for (const bool sleeps : {false, true}) expect_all_right({2, {8, 200, 100}, tiny, false, sleeps}, 2, 900);
}

TEST(ShmModel, TwoRanksLongMessagesInPiecesOrCopiedByTheReceiver) {
    for (const bool sleeps : {false, true}) expect_all_right({2, {8, 200, 100}, mixed, true, sleeps}, 2, 900);
}

// A container may forbid it to one rank only.
TEST(ShmModel, TwoRanksOfWhichOneMayCopy) {
    for (const bool sleeps : {false, true}) {
        for (const Direct direct : {Direct(true, false), Direct(false, true)}) {
            expect_all_right({2, {8, 200, 100}, tiny, direct, sleeps}, 2, 900);
            expect_all_right({2, {8, 200, 100}, mixed, direct, sleeps}, 2, 900);
        }
    }
}

// It permitted them at first: the rank whose copy is refused gives up, with what to do.
TEST(ShmModel, TheSystemRefusesCopiesFromNowOn) {
    for (const Geometry& geometry : {tiny, mixed}) {
        for (const int copies : {0, 1}) {
            const Explorer::Result result =
                Explorer::explore(Play{2, {200}, geometry, true, true, copies}, 0);
            EXPECT_THAT(result.failure, testing::AllOf(testing::HasSubstr("Operation not permitted"),
                                                       testing::HasSubstr("LAPWING_TRANSFER=processor")));
        }
    }
}

// The first messages go by both ways in turn.
TEST(ShmModel, TwoRanksThatMeasureBothWays) {
    for (const bool sleeps : {false, true})
        expect_all_right({2, {100, 120, 200}, measuring, true, sleeps}, 2, 900);
}

TEST(ShmModel, ThreeRanks) {
    for (const bool sleeps : {false, true}) {
        expect_all_right({3, {8, 120}, mixed, true, sleeps}, 1, 500);
        expect_all_right({3, {8}, tiny, true, sleeps}, 2, 5000);
        expect_all_right({3, {8, 120}, tiny, true, sleeps}, 1, 500);
    }
}

// Rank 0 exchanges one message with rank 1, and then computes: its progress thread sees to it.
struct HelpedPlay {
    std::size_t length;
    bool direct;
    Geometry geometry = tiny;

    struct Helped : World {
        Helped(const Geometry& of_lanes, bool directly) : World(2, of_lanes, directly) {
            protocol[0]->share();
        }
        // True when both are complete.
        bool go_on() { return protocol[0]->test(receive) && protocol[0]->test(send); }

        Bytes received;
        Link::Transfer send, receive;
        Model::Word<std::uint32_t> added, work, complete;
    };

    std::vector<std::function<void()>> operator()() const {
        Model::copies_left = INT_MAX;
        auto world = std::make_shared<Helped>(geometry, direct);
        const auto program = [world, play = *this] {
            Protocol<Model>& protocol = *world->protocol[0];
            const Bytes sent = model_message(play.length, 0);
            world->received.resize(play.length);
            world->work.store(1);
            world->added.store(1);
            bool complete = false;
            {
                const auto held = protocol.hold();
                protocol.recv(1, 1, 0, world->received.data(), play.length, world->receive);
                protocol.send(1, 1, 0, sent.data(), play.length, world->send);
                protocol.flush();
                complete = world->go_on();
            }
            if (complete) {
                world->complete.store(1);
            } else {
                world->work.store(0);
                protocol.let_ring(true);
            }
            bool news = complete;
            if (!news) {
                const auto held = protocol.hold();
                news = protocol.has_events_for_progress_thread();
            }
            if (news) protocol.ring_here();
            for (;;) {
                const std::uint64_t writes = Explorer::writes();
                if (world->complete.load() != 0) break;
                Explorer::pause(writes);
            }
            if (world->received != model_message(play.length, 1))
                Explorer::fail("what the progress thread has received is wrong");
        };
        const auto progress_thread = [world] {
            Protocol<Model>& protocol = *world->protocol[0];
            for (int vain = 0;;) {
                const std::uint64_t writes = Explorer::writes();
                const std::uint32_t rings = protocol.rings();
                if (world->complete.load() != 0) break;
                {
                    const auto held = protocol.hold();
                    protocol.move_all();
                }
                bool again = false;
                if (world->added.load() != 0) {
                    again = world->work.exchange(1) != 0;
                    if (!again) {
                        const auto held = protocol.hold();
                        if (world->go_on()) break;
                        world->work.store(0);
                    }
                }
                {
                    const auto held = protocol.hold();
                    again = protocol.has_events_for_progress_thread() || again;
                }
                if (!again) {
                    vain = 0;
                    protocol.sleep_since(rings, -1);
                } else if (++vain > 3) {
                    Explorer::pause(writes);
                }
            }
            world->complete.store(1);
        };
        const auto other = [world, play = *this] {
            Protocol<Model>& protocol = *world->protocol[1];
            const Bytes sent = model_message(play.length, 1);
            Bytes received(play.length);
            Link::Transfer send;
            Link::Transfer receive;
            protocol.send(0, 1, 0, sent.data(), play.length, send);
            protocol.flush();
            protocol.recv(0, 1, 0, received.data(), play.length, receive);
            wait(protocol, receive, true);
            wait(protocol, send, true);
            if (received != model_message(play.length, 0))
                Explorer::fail("what the progress thread has sent is wrong");
        };
        return {program, progress_thread, other};
    }
};

TEST(ShmModel, AHelperMovesWhatTheProgramHasStarted) {
    const auto expect_right = [](std::size_t length, bool direct, int preemptions, std::uint64_t least,
                                 const Geometry& geometry = tiny) {
        const Explorer::Result result = Explorer::explore(HelpedPlay{length, direct, geometry}, preemptions);
        EXPECT_EQ(result.failure, "") << length << " bytes, in schedule " << result.schedules;
        EXPECT_GE(result.schedules, least);
        testing::Test::RecordProperty("schedules", static_cast<int>(result.schedules));
    };
    expect_right(8, true, 1, 500);
    expect_right(200, true, 0, 20);
    expect_right(200, true, 0, 20, mixed);
    expect_right(100, false, 0, 20);
}

// What the explorer is for: the sleeper looks for news before it says that it sleeps.
TEST(ShmModel, ARingThatIsLostIsFound) {
    const Explorer::Result result = Explorer::explore(
        [] {
            struct Two {
                Doorbell<Model> doorbell{};
                Model::Word<std::uint32_t> news;
            };
            auto two = std::make_shared<Two>();
            return std::vector<std::function<void()>>{[two] {
                                                          const std::uint32_t seen =
                                                              two->doorbell.rings.load();
                                                          if (two->news.load() != 0) return;
                                                          two->doorbell.asleep.store(1);
                                                          Model::sleep(two->doorbell.rings, seen, 0);
                                                      },
                                                      [two] {
                                                          two->news.store(1);
                                                          ring(two->doorbell);
                                                      }};
        },
        2);
    EXPECT_EQ(result.failure, "these wait for ever: 0");
}

}  // namespace
}  // namespace lapwing::shm

#endif
