// The ranks of a job, and how one rank asks others. The functions that ask wait: for a thread of the watch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "links/tcp/endpoint.hpp"
#include "watch/messages.hpp"
#include "watch/process_state.hpp"

namespace lapwing::watch {

// What the others know of a rank. Plain bytes, which ranks exchange when the job starts.
struct Member {
    Process process;
    std::uint64_t host = 0;  // tcp::host_number()
    std::uint32_t job = 0;   // of rank 0
    char host_name[48] = {};
};

// The calling process.
Member own_member();

class Ranks {
  public:
    // `endpoint`: reaches ranks of other hosts; null if there is none, and `why_not` is the reason.
    // `tcp_only`: the endpoint also reaches the ranks of this host.
    Ranks(std::vector<Member> members, int self, tcp::Endpoint* endpoint, std::string why_not, bool tcp_only);

    int self() const { return self_; }
    int count() const { return static_cast<int>(members_.size()); }
    const Member& member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
    bool on_this_host(int rank) const { return member(rank).host == member(self_).host; }
    const std::string& job_name() const { return job_name_; }
    // "rank 3 (node2, pid 4711)"
    std::string describe(int rank) const;
    std::vector<std::string> hosts() const;

    // A number that no group of the job has.
    static constexpr std::uint64_t service = ~std::uint64_t{0};

    // How long to wait for each rank, and the descriptor that ends all waiting when it is readable: the
    // functions below throw Error (link) then.
    struct Patience {
        std::chrono::milliseconds limit;
        int stop;
    };

    // Asks each of the ranks, on a connection of its own and many at a time. Calls `answered` once for each
    // rank: with the answer, or null and the reason. Passes on what `answered` throws.
    struct Failure {
        std::string why{};     // empty: the rank has not answered in time
        bool refused = false;  // its process does not listen: it has no watch, or none any more
    };
    using Answered = std::function<void(int rank, const Frame* answer, const Failure& failure)>;
    void ask(std::span<const int> ranks, FrameKind kind, const Patience& patience,
             const Answered& answered) const;

    // Asks all other ranks for their snapshots, and the system for the states of ranks that do not answer.
    // Calls `reply` once for each.
    void collect(const Patience& patience, const std::function<void(RankSnapshot)>& reply) const;

    // As FrameKind::states.
    std::vector<std::byte> states() const;

  private:
    struct Question;
    struct Silent;
    bool connect(Question& question) const;
    std::string sentence(const Silent& silent, std::chrono::milliseconds limit) const;

    const std::vector<Member> members_;
    const int self_;
    tcp::Endpoint* const endpoint_;
    const std::string why_not_;
    const bool tcp_only_;
    const std::string job_name_;
};

}  // namespace lapwing::watch
