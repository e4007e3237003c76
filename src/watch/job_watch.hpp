// How the ranks of a job tell each other, and `lapwing status`, what they wait for.
//
// Each rank answers questions about itself on threads of its watch, whatever its program does. Ranks of one
// host ask each other over Unix sockets (local_socket.hpp), ranks of different hosts over the job's endpoint
// (links/tcp/). A question is a connection of its own, made when it is asked: a job in which no rank asks has
// neither connections nor threads for them, and its watch sleeps.
//
// The watch also finds silent ranks: those whose process is stopped, or whose host is not reached. They are
// waited for, as the MPI would; the end of a process is reported by the links (links/README.md).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/job.hpp"
#include "watch/ranks.hpp"
#include "watch/snapshot.hpp"

namespace lapwing::watch {

struct WatchOptions {
    // This rank's journal. Called by any thread of the watch, also by several at once.
    std::function<RankSnapshot(Lines)> snapshot;
    // A rank that waits in one call for so long, without progress, makes the job print a report; 0: none.
    std::chrono::milliseconds stall{60'000};
    // Prints text of several lines for people. Called by a thread of the watch.
    std::function<void(const std::string& text)> print;
    std::string version;  // of this build
    std::chrono::milliseconds answer_limit{2'000};
    // While a rank waits, a rank that does not answer for `notice` is named on a line, and so is its return.
    // After `patience`, `lost` is called with the reason.
    std::chrono::milliseconds notice{10'000};
    std::chrono::milliseconds patience{600'000};
    std::function<void(const std::string& why)> lost = [](const std::string&) {};
    // For tests: ranks of one host also ask each other by TCP.
    bool tcp_only = false;
};

class JobWatch {
  public:
    // Collective over the job, which must outlive the watch. `members`: own_member() of all ranks. Never
    // throws: without its sockets a job has a watch that answers less, and trouble() has the reason.
    JobWatch(Job& job, std::vector<Member> members, WatchOptions options);
    // From now on this rank does not answer. Waits for no other rank.
    ~JobWatch();

    // What this rank's watch does without, and why; empty if it has all.
    const std::string& trouble() const;
    // The job's name on this host: "1a2b3c4d".
    const std::string& job_name() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lapwing::watch
