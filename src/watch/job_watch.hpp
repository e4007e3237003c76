// How the ranks of a job tell each other, and `lapwing status`, what they wait for.
//
// Each rank answers questions about itself on the event thread, whatever its program does. Ranks of one host
// ask each other over Unix sockets (local_socket.hpp), ranks of different hosts over the job's endpoint
// (links/tcp/). A question is a connection of its own, made when it is asked: a job in which no rank asks has
// no connections, and its watch sleeps.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engines/job.hpp"
#include "watch/snapshot.hpp"

namespace lapwing::watch {

struct WatchOptions {
    // This rank's journal. Called by the event thread.
    std::function<RankSnapshot()> snapshot;
    // A rank that waits in one call for so long, without progress, makes the job print a report; 0: none.
    std::chrono::milliseconds stall{60'000};
    // Prints text of several lines for people. Called by a thread of the watch.
    std::function<void(const std::string& text)> print;
    std::string version;  // of this build
    std::chrono::milliseconds answer_limit{2'000};
    // For tests: ranks of one host also ask each other by TCP.
    bool tcp_only = false;
};

class JobWatch {
  public:
    // Collective over the job, which must outlive the watch. Never throws: without its sockets a job has a
    // watch that answers less, and trouble() has the reason.
    JobWatch(Job& job, WatchOptions options);
    // From now on this rank does not answer. Waits for no other rank.
    ~JobWatch();
    JobWatch(const JobWatch&) = delete;
    JobWatch& operator=(const JobWatch&) = delete;

    // What this rank's watch does without, and why; empty if it has all.
    const std::string& trouble() const;
    // The job's name on this host: "1a2b3c4d".
    const std::string& job_name() const;

    // Messages between rank 0 and the other ranks, in order for each pair. The functions may be called by any
    // thread and do not wait.

    // Runs `receive` on the event thread for each message. Once, before any rank sends.
    using Receive = std::function<void(int from, std::span<const std::byte> message)>;
    void on_message(Receive receive);
    // To rank 0, by any rank. Returns false if more than 16 MiB wait for rank 0 to read them, or if this rank
    // has no watch: the message is dropped then. If rank 0 does not answer, the messages wait until it does.
    bool send_to_first(std::span<const std::byte> message);
    // By rank 0, to all ranks, itself among them.
    void send_to_all(std::span<const std::byte> message);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace lapwing::watch
