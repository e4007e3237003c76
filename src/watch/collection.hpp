// The snapshots of all ranks of a job, asked by one of them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "watch/messages.hpp"
#include "watch/ranks.hpp"

namespace lapwing::watch {

// Only on the event thread.
class Collection : public std::enable_shared_from_this<Collection> {
  public:
    struct Work {
        std::function<RankReply()> own;
        std::function<void(RankReply)> reply;  // once for each rank
        std::function<void()> done;            // after the last reply
    };
    // Waits up to `limit` for the answer of each rank. `ranks` and `loop` must outlive the collection.
    static std::shared_ptr<Collection> start(Ranks& ranks, EventLoop& loop, std::chrono::milliseconds limit,
                                             Work work);

  private:
    struct Silent {
        int rank = 0;
        bool refused = false;
        std::string why;  // empty: the rank has not answered in time
        ProcessState state = ProcessState::unknown;
    };

    Collection(Ranks& ranks, EventLoop& loop, std::chrono::milliseconds limit, Work work);
    void ask_more();
    void ask(int rank);
    void answered(int rank, const Frame* answer, const Ranks::Failure& failure);
    void find_states();
    void ask_states(const std::vector<std::size_t>& silent, int mate);
    void finish();
    std::string sentence(const Silent& silent) const;

    Ranks& ranks_;
    EventLoop& loop_;
    const std::chrono::milliseconds limit_;
    Work work_;
    int next_ = 0;
    int open_ = 0;   // questions
    int fresh_ = 0;  // those that were asked a moment ago
    std::size_t bytes_ = 0;
    std::map<std::uint64_t, int> mates_;  // by host: a rank that has answered
    std::vector<Silent> silent_;
    int asked_states_ = 0;
};

}  // namespace lapwing::watch
