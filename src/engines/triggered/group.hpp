// The triggered engine in one group: takes runs from their start to their completion.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/verdict.hpp"
#include "engines/job_failure.hpp"
#include "engines/triggered/channel.hpp"
#include "engines/triggered/deferred_work.hpp"
#include "engines/triggered/demand.hpp"
#include "engines/triggered/run.hpp"
#include "links/link.hpp"

namespace lapwing::triggered {

// A channel, and the runs that wait for it. All ranks start the runs of a channel in the same order.
struct GroupChannel {
    template <typename... Arguments>
    explicit GroupChannel(Arguments&&... of_channel) : channel(std::forward<Arguments>(of_channel)...) {}

    Channel channel;
    std::deque<TriggeredRun*> waiting;
    // What a persistent list has set aside for its channel and its runs.
    std::uint64_t counters = 0;
    std::uint64_t entries = 0;
    bool is_closed = false;
};

// Not thread-safe.
class Group {
  public:
    // Network, link and failure must outlive it.
    Group(DeferredWork& network, Link& messages, const GroupLimits& limits,
          const JobFailure* failure = nullptr);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    // Whether the group has enough for the lists of this problem; if so, they are part of what it reserves
    // from now on. Equal on all ranks that ask for the same problems in the same order, and the same when it
    // is asked again.
    Verdict admit(const Problem& problem, const std::function<List(int)>& list_of, bool persistent);
    // The channel of all lists that are not persistent.
    GroupChannel& shared() { return channels_.front(); }
    // Makes the channel of a persistent list: with counters and trigger entries of its own, since ranks may
    // start persistent lists in different orders. Returns null if too few are left.
    GroupChannel* open(const Schedule& schedule, std::uint32_t number);
    void close(GroupChannel& channel);

    std::unique_ptr<TriggeredRun> make_run() const {
        return std::make_unique<TriggeredRun>(network_, *at_once_);
    }
    // The caller owns the run, which must stay in place until it is complete.
    void start(TriggeredRun& run, GroupChannel& channel);
    // Returns true if the run is complete. Throws Error (link).
    bool test(TriggeredRun& run);

  private:
    using Works = std::vector<std::unique_ptr<DeferredWork::Work>>;

    void advance();
    bool can_launch(TriggeredRun& run);
    void launch(TriggeredRun& run);
    void end(TriggeredRun& run);
    void erase_closed_channels();
    void retire(Works works);
    void owe_credits(const TriggeredRun& run);
    void pay_credits();
    void collect_paid_credits();
    OwnCounter take_counter();
    void release(OwnCounter counter, std::uint64_t raised_by);

    DeferredWork& network_;
    Link& messages_;
    const JobFailure* const failure_;  // of the job; null: none is reported
    const std::uint64_t limit_;        // of counters: they restart above it
    const GroupLimits limits_;
    std::unique_ptr<DeferredWork::Counter> at_once_;  // triggers works that wait for nothing
    std::list<GroupChannel> channels_;                // the first is shared
    std::vector<TriggeredRun*> in_flight_;
    // Runs of lists that are not persistent.
    std::vector<std::set<std::int32_t>> peers_;  // of each rank, in admitted lists
    std::uint64_t max_counters_of_run_ = 0;      // of admitted lists
    std::uint64_t counters_in_use_ = 0;
    std::vector<OwnCounter> idle_counters_;
    // Works of the last runs: libfabric may still use a work that it has just counted.
    std::deque<Works> retired_;
    std::deque<DeferredWork::Target> owed_credits_;
    Works paid_credits_;
    OwnCounter paid_counter_;
    std::string error_;  // why no run can go on; empty: none
};

}  // namespace lapwing::triggered
