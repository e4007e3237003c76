// The questions of `lapwing status` to the ranks of jobs on this host.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "links/tcp/sockets.hpp"
#include "watch/messages.hpp"

namespace lapwing::tool {

// A job with ranks on this host.
struct FoundJob {
    std::string name;
    std::vector<int> ranks;  // those on this host
    uid_t user = 0;
    std::vector<int> pids;  // of the ranks on this host that this user may ask
};
// Throws Error (system).
std::vector<FoundJob> jobs_here();

// A connection to a rank that answers: the first one of those on this host.
class RankClient {
  public:
    // Throws Error (link, unsupported) if no rank answers, or if the job belongs to another user.
    explicit RankClient(const FoundJob& job);

    const watch::JobDescription& description() const { return description_; }
    // The answers of all ranks of the job, by rank. Throws Error (link).
    std::vector<watch::Answer> collect();

  private:
    using Clock = std::chrono::steady_clock;
    // Throws Error (link).
    watch::Frame receive(Clock::time_point deadline);

    tcp::Socket socket_;
    watch::JobDescription description_;
};

}  // namespace lapwing::tool
