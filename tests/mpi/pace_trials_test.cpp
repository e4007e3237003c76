#include "mpi/native/pace_trials.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lapwing {
namespace {

// One place, and what an episode costs there at each pace.
class TriedPlace {
  public:
    // Returns the pace.
    Pace episode(std::uint64_t fast, std::uint64_t slow) {
        const Pace pace = trials_.pace();
        trials_.learn(pace, pace == Pace::slow ? slow : fast);
        ++number_;
        return pace;
    }
    // The numbers of the next episodes at the slow pace.
    std::vector<int> trials(int episodes, std::uint64_t fast, std::uint64_t slow) {
        std::vector<int> found;
        while (episodes-- > 0) {
            const int number = number_;
            if (episode(fast, slow) == Pace::slow) found.push_back(number);
        }
        return found;
    }
    Pace pace() const { return trials_.pace(); }

  private:
    PaceTrials trials_;
    int number_ = 0;
};

TEST(PaceTrials, TheSlowPaceIsKeptWhereItSavesAnEighth) {
    TriedPlace place;
    int slow = 0;
    for (int i = 0; i < 1'000; ++i) {
        const Pace pace = place.episode(800, 700);
        EXPECT_EQ(pace == Pace::fast, i < 4 || i % 16 == 0) << i;
        slow += pace == Pace::slow ? 1 : 0;
    }
    EXPECT_EQ(slow, 1'000 - 4 - 62);
}

// As where two messages hinder one another natively, so that both paces cost the same, until one does not.
TEST(PaceTrials, AFastPaceThatBecomesCheaperEndsTheSlowOne) {
    TriedPlace place;
    for (int i = 0; i < 20; ++i) place.episode(1'000, 700);
    int slow = 0;
    for (int i = 0; i < 200; ++i) slow += place.episode(100, 700) == Pace::slow ? 1 : 0;
    EXPECT_LT(slow, 20);
}

TEST(PaceTrials, TwoDearEpisodesEndATrialAndTrialsBecomeRarer) {
    TriedPlace place;
    EXPECT_EQ(place.trials(1'000, 800, 701), (std::vector{4, 5, 69, 70, 140, 141, 282, 283, 566, 567}));
    const std::vector<int> later = place.trials(20'000, 800, 701);
    for (std::size_t i = 2; i < later.size(); i += 2) EXPECT_LE(later[i] - later[i - 1], 4097);
    EXPECT_EQ(later.back() - later[later.size() - 3], 4097);
}

// Two in a row.
TEST(PaceTrials, OneLateRankEndsNoTrial) {
    TriedPlace place;
    for (int i = 0; i < 5; ++i) place.episode(100, 80);
    for (int i = 5; i < 25; ++i) {
        EXPECT_EQ(place.episode(100, i % 10 == 8 ? 10'000 : 10) == Pace::slow, i != 16) << i;
    }
}

TEST(PaceTrials, TheFirstEpisodeDoesNotCount) {
    TriedPlace place;
    place.episode(1'000'000, 0);
    EXPECT_EQ(place.trials(20, 800, 701), (std::vector{4, 5}));
}

// Of the fast pace: 100, of which a late rank changes a quarter, by at most as much again: 125. The slow pace
// may cost 110.
TEST(PaceTrials, ALateRankDoesNotCountForLong) {
    for (const std::uint64_t slow : {110, 111}) {
        TriedPlace place;
        place.episode(0, 0);
        place.episode(100, 0);
        place.episode(100, 0);
        place.episode(1'000'000, 0);
        place.episode(0, slow);
        place.episode(0, slow);
        EXPECT_EQ(place.pace(), slow == 110 ? Pace::slow : Pace::fast);
    }
}

// A new trial begins without what the last one cost.
TEST(PaceTrials, EachTrialIsMeasuredAnew) {
    TriedPlace place;
    place.trials(69, 100, 10'000);
    EXPECT_EQ(place.trials(11, 100, 80).size(), 11U);
}

// What a pace costs depends on the other rank's. The slow one is cheaper for a rank alone, and dearer for
// both.
TEST(PaceTrials, TwoCoupledRanksDoNotBothSettleForTheSlowPace) {
    for (const int ahead : {0, 1, 7, 33}) {
        TriedPlace ranks[2];
        for (int i = 0; i < ahead; ++i) ranks[0].episode(100, 80);
        int both = 0;
        for (int i = 0; i < 10'000; ++i) {
            const bool slow[] = {ranks[0].pace() == Pace::slow, ranks[1].pace() == Pace::slow};
            both += slow[0] && slow[1] ? 1 : 0;
            for (int r = 0; r < 2; ++r) ranks[r].episode(slow[1 - r] ? 150 : 100, slow[1 - r] ? 130 : 80);
        }
        EXPECT_LT(both, 1'000) << ahead;
    }
}

}  // namespace
}  // namespace lapwing
