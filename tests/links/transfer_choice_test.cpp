// The choice between the two ways of long messages inside a host, by times that the test makes up.
#include "links/shm/transfer_choice.hpp"

#include "links/shm/node.hpp"
#include "support/unit.hpp"

namespace lapwing::shm {
namespace {

constexpr std::uint64_t guess = 2097152;

// Messages that take what `cost` says; how many of them went each way.
struct Counted {
    int pieces = 0, direct = 0, timed = 0;
};
Counted send(TransferChoice& choice, std::uint64_t bytes, int messages,
             const std::function<std::uint64_t(Way, int)>& cost) {
    Counted counted;
    for (int i = 0; i < messages; ++i) {
        const auto [way, timed] = choice.next(bytes);
        ++(way == Way::pieces ? counted.pieces : counted.direct);
        counted.timed += timed;
        if (timed) choice.took(bytes, way, cost(way, i));
    }
    return counted;
}

auto takes(std::uint64_t pieces, std::uint64_t direct) {
    return [=](Way way, int) { return way == Way::pieces ? pieces : direct; };
}

TEST(TransferChoice, FindsTheFasterWayWithinFiftyMessages) {
    for (const std::uint64_t bytes :
         {std::uint64_t{16385}, std::uint64_t{65536}, guess, std::uint64_t{1} << 30}) {
        TransferChoice choice(guess);
        EXPECT_LE(send(choice, bytes, 50, takes(1000, 500)).pieces, 8) << bytes;
        EXPECT_EQ(send(choice, bytes, 1, takes(1000, 500)).direct, 1) << bytes;
        TransferChoice other(guess);
        EXPECT_LE(send(other, bytes, 50, takes(500, 1000)).direct, 8) << bytes;
        EXPECT_EQ(send(other, bytes, 1, takes(500, 1000)).pieces, 1) << bytes;
    }
}

TEST(TransferChoice, LooksAgainButRarely) {
    TransferChoice choice(guess);
    send(choice, 65536, 50, takes(500, 1000));
    const Counted later = send(choice, 65536, 10000, takes(500, 1000));
    EXPECT_GE(later.direct, 5);
    EXPECT_LE(later.direct, 20);
    EXPECT_LE(later.timed, 10000 / TransferChoice::timed_of + later.direct);
}

TEST(TransferChoice, ChangesWhenTheTimesDo) {
    TransferChoice choice(guess);
    send(choice, 65536, 50, takes(500, 1000));
    const Counted turned = send(choice, 65536, 400, takes(500, 250));
    EXPECT_GE(turned.direct, 300);
    EXPECT_EQ(choice.times().front().chosen, Way::direct);
}

// Ranks that the system takes the processor from now and then.
TEST(TransferChoice, OneInFiveSamplesMayBeWrong) {
    TransferChoice choice(guess);
    const auto disturbed = [](Way way, int i) -> std::uint64_t {
        if (i % 5 == 3) return 3'000'000;
        return way == Way::pieces ? 500 : 1000;
    };
    const Counted counted = send(choice, 65536, 5000, disturbed);
    EXPECT_LE(counted.direct, 100);
}

TEST(TransferChoice, EqualTimesKeepTheFirstGuess) {
    TransferChoice choice(guess);
    EXPECT_LE(send(choice, 65536, 1000, takes(500, 490)).direct, 20);
    EXPECT_LE(send(choice, 2 * guess, 1000, takes(490, 500)).pieces, 20);
}

TEST(TransferChoice, ClassesAreDecidedApart) {
    TransferChoice choice(guess);
    send(choice, 32768, 50, takes(500, 1000));
    send(choice, 32769, 50, takes(1000, 500));
    const std::vector<TransferTimes> times = choice.times();
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(times[0].max_bytes, 32768U);
    EXPECT_EQ(times[0].chosen, Way::pieces);
    EXPECT_NEAR(times[0].nanoseconds[0], 500, 1);
    EXPECT_NEAR(times[0].nanoseconds[1], 1000, 1);
    EXPECT_EQ(times[1].max_bytes, 65536U);
    EXPECT_EQ(times[1].chosen, Way::direct);
    EXPECT_EQ(times[1].messages, 50U);
}

TEST(TransferChoice, FewMessagesDecideNothing) {
    TransferChoice choice(guess);
    send(choice, 65536, 2 * TransferChoice::samples - 1, takes(500, 100));
    const TransferTimes undecided = choice.times().front();
    EXPECT_FALSE(undecided.decided());
    EXPECT_THAT(in_words(undecided), testing::StartsWith("64 KiB: in pieces 0.5 us, by the kernel 0.1 us"));
    send(choice, 65536, 1, takes(500, 100));
    EXPECT_EQ(in_words(choice.times().front()), "64 KiB: by the kernel 0.1 us, not in pieces 0.5 us");
}

}  // namespace
}  // namespace lapwing::shm
