// The ranks of a job, as their watches know them, and how one asks another.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "links/event/event_loop.hpp"
#include "links/tcp/endpoint.hpp"
#include "watch/channel.hpp"
#include "watch/process_state.hpp"

namespace lapwing::watch {

// Ranks exchange it when the job starts. Plain bytes.
struct Member {
    Process process;
    std::uint64_t host = 0;  // tcp::host_number()
    std::uint32_t job = 0;   // of rank 0
    char host_name[48] = {};
};

class Ranks {
  public:
    // `endpoint`: reaches ranks of other hosts; null if there is none, and `why_not` is the reason.
    // `tcp_only`: the endpoint also reaches the ranks of this host.
    Ranks(EventLoop& loop, std::vector<Member> members, int self, tcp::Endpoint* endpoint,
          std::string why_not, bool tcp_only);

    int self() const { return self_; }
    int count() const { return static_cast<int>(members_.size()); }
    const Member& member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
    // Whether open() has a way to the rank at all.
    bool reachable(int rank) const { return is_local(rank) || endpoint_ != nullptr; }
    bool on_this_host(int rank) const { return member(rank).host == member(self_).host; }
    const std::string& job_name() const { return job_name_; }
    // "rank 3 (node2, pid 4711)"
    std::string describe(int rank) const;
    std::vector<std::string> hosts() const;

    // A number that no group of the job has.
    static constexpr std::uint64_t service = ~std::uint64_t{0};

    // The functions below run on the event thread alone; so does the work that they are given.

    // Opens a connection to another rank. `opened` gets the descriptor and what closes it, or a negative
    // descriptor and why there is none.
    struct Opened {
        int descriptor = -1;
        std::function<void()> release{};
        std::string why{};
        bool refused = false;  // its process does not listen any more
    };
    void open(int rank, std::chrono::milliseconds limit, std::function<void(Opened)> opened);

    // Asks a question on a connection of its own. `done` gets the answer, or null and why there is none.
    struct Failure {
        std::string why{};
        bool refused = false;
    };
    using Done = std::function<void(const Frame* answer, const Failure& failure)>;
    void ask(int rank, FrameKind kind, std::span<const std::byte> bytes, std::chrono::milliseconds limit,
             Done done);

    // Ends all questions without an answer.
    void close();

  private:
    // Reached by a Unix socket.
    bool is_local(int rank) const { return on_this_host(rank) && !tcp_only_; }
    struct Opening;
    struct Question;

    void open_locally(const std::shared_ptr<Opening>& opening);
    void open_by_tcp(const std::shared_ptr<Opening>& opening);
    void end(const std::shared_ptr<Opening>& opening, Opened opened);
    void end(const std::shared_ptr<Question>& question, const Frame* answer, const Failure& failure);

    EventLoop& loop_;
    const std::vector<Member> members_;
    const int self_;
    tcp::Endpoint* const endpoint_;
    const std::string why_not_;
    const bool tcp_only_;
    const std::string job_name_;
    std::set<std::shared_ptr<Opening>> openings_;
    std::set<std::shared_ptr<Question>> questions_;
};

}  // namespace lapwing::watch
