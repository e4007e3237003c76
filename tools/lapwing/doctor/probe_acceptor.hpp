// Accepts connections from agents of other hosts, by Lapwing's own acceptor.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lapwing/doctor/reach_task.hpp"
#include "links/tcp/acceptor.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/job.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tool {

// The purpose of a connection between agents.
enum class Probe : std::uint64_t {
    reach = 1,  // to show that the host is reached
    measure,
    finished,  // to report that the agent tries no more hosts
};
// In a handshake only the higher member may connect to the lower one, and agents try both directions. So each
// is two members: one that accepts, and a higher one that connects.
tcp::Claim claim_of(const ReachTask& task, Probe probe, int from, int to);

class ProbeAcceptor {
  public:
    // Listens on the ports of member `self`. Throws Error (system).
    ProbeAcceptor(const ReachTask& task, const tcp::Options& options, int self);

    bool has_reached_us(int peer);
    // Waits for a peer's connection and serves its measurements, for a few seconds at most.
    void serve(int peer);
    // Until all peers that reached this one, or that it reached, have finished.
    void await_finished(const std::set<int>& reached, std::chrono::milliseconds limit);

  private:
    tcp::Socket await_measurement(int peer, std::chrono::steady_clock::time_point end);

    tcp::Job job_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<bool> reached_us_;
    std::vector<bool> finished_;
    std::multimap<int, tcp::Socket> measurements_;
    std::unique_ptr<tcp::Acceptor> acceptor_;
    EventLoop event_loop_;  // destroyed before the members it uses
};

}  // namespace lapwing::tool
