// The triggered engine in one group: takes runs through their stages.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/triggered/demand.hpp"
#include "engines/triggered/kept_ends.hpp"
#include "engines/triggered/ledger.hpp"
#include "engines/triggered/pairs.hpp"
#include "engines/triggered/schedule.hpp"
#include "engines/triggered/works.hpp"

namespace lapwing::triggered {

// A counter of this rank's own, and where it will stand when all that has been queued for it is over.
struct OwnCounter {
    std::unique_ptr<DeferredWork::Counter> counter;
    std::uint64_t value = 0;
};

struct Run final : Operation {
    std::shared_ptr<const Schedule> schedule;
    std::uint64_t counters = 0;  // that it takes at most
    KeptEnds* kept = nullptr;    // of a list that keeps its buffers
    Buffers buffers;
    bool complete = false;
    bool has_begun = false;  // of a list that keeps its buffers: credits are given

    // From its launch on.
    Uses uses;
    std::vector<Work> by_hand;  // what no trigger entry was left for; done in order by whoever tests
    std::vector<std::unique_ptr<DeferredWork::Work>> queued;
    std::uint64_t entries = 0;  // that it holds
    std::vector<OwnCounter> gates;
    OwnCounter done;        // counts the run's writes
    OwnCounter stages;      // those that are over, where writes wait for them
    std::size_t stage = 0;  // the next one
    std::vector<std::byte> reduced;
};

// All lists of a group use the slots of its pairs, or all of them keep their buffers (see the constructor).
// Not thread-safe.
class Group {
  public:
    // `persistent`: its lists keep their buffers. Network and link must outlive it.
    Group(DeferredWork& network, Link& messages, const Limits& limits, bool persistent);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    // As GroupEngine::admits().
    Verdict admits(const Problem& problem, const std::function<List(int)>& list_of);
    bool keeps() const { return keeps_; }
    // What the starts of a list use that keeps its buffers, on a channel of their own: counters and trigger
    // entries, which it shares with no other, since ranks may start lists in different orders. Given back by
    // close(). Null: there are too few.
    KeptEnds* open(const std::shared_ptr<const Schedule>& schedule, std::uint32_t channel);
    void close(KeptEnds* ends);
    // The run stays the caller's.
    void start(Run& run);
    // True when the run is complete. Throws Error (link).
    bool test(Run& run);

  private:
    struct Kept {
        std::unique_ptr<KeptEnds> ends;
        std::uint64_t counters = 0;  // with those of a run
        std::uint64_t entries = 0;
        bool closed = false;
    };

    void advance();
    void launch_those_that_can();
    bool can_launch(const Run& run);
    bool can_launch_kept(Run& run);
    void forget_closed();
    Ends& ends(const Run& run);
    void launch(Run& run);
    void queue(Run& run, const Work& work);
    void do_by_hand(Run& run);
    void do_stages(Run& run);
    void reduce(Run& run, const Reduction& reduction);
    void copy(Run& run, const std::vector<Piece>& pieces, std::byte* target);
    bool have_landed(Run& run, const std::vector<Arrival>& arrivals);
    bool has_ended(Run& run);
    void end(Run& run);
    void keep_for_a_while(std::vector<std::unique_ptr<DeferredWork::Work>> works);
    void pay_credits();
    void take_back_credits();

    DeferredWork::Counter& counter(const Run& run, const Counter& counter);
    std::uint64_t threshold(const Run& run, const Trigger& trigger) const;
    const std::byte* at(Run& run, const Place& place);
    OwnCounter take_counter();
    void give_back(OwnCounter counter);

    DeferredWork& network_;
    Link& messages_;
    const std::uint64_t limit_;  // of counters, before they begin anew
    Pairs pairs_;
    Ledger ledger_;
    std::deque<Run*> waiting_;  // for the pairs and the counters that they use
    const bool keeps_;
    std::vector<Kept> kept_;
    std::uint64_t counters_of_kept_ = 0;
    std::vector<Run*> in_flight_;
    std::unique_ptr<DeferredWork::Counter> at_once_;  // whose thresholds of 0 are reached
    std::vector<OwnCounter> idle_counters_;
    // What lists that were admitted take: of each rank its peers, and of a run the most.
    const Limits limits_;
    std::vector<std::set<std::int32_t>> peers_;
    std::uint64_t counters_of_run_ = 0;
    std::uint64_t counters_made_ = 0;  // for runs
    // The last ones: libfabric may still look at a work that it has just counted.
    std::deque<std::vector<std::unique_ptr<DeferredWork::Work>>> over_;

    std::vector<std::byte> together_;        // a reduction's source, where it lies in pieces
    std::deque<DeferredWork::Target> owed_;  // credits
    std::vector<std::unique_ptr<DeferredWork::Work>> paid_;
    OwnCounter paid_counter_;
    std::string broken_;
};

}  // namespace lapwing::triggered
