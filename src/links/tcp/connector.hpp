// Makes the connections that this process must make. Runs on the event thread.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "links/event/event_loop.hpp"
#include "links/tcp/address.hpp"
#include "links/tcp/connection_table.hpp"

namespace lapwing::tcp {

class Connector {
  public:
    Connector(EventLoop& event_loop, const Job& job);
    // Only after the event thread has ended.
    ~Connector();

    // Tries until the connection is made or has failed; reports either to `table`.
    void connect(const std::shared_ptr<ConnectionTable>& table, int peer, int lane);
    // Ends the attempts of groups that are closed.
    void drop_closed();

  private:
    struct Attempt;
    using Shared = std::shared_ptr<Attempt>;

    void next_ip(const Shared& attempt);
    void advance_handshake(const Shared& attempt);
    void connected(const Shared& attempt);
    void ip_failed(const Shared& attempt, const std::string& why, bool outage);
    void round_failed(const Shared& attempt);
    void close_attempt(Attempt& attempt);
    // Removes the attempt.
    void end(const Shared& attempt);
    void after(const Shared& attempt, std::chrono::milliseconds delay,
               void (Connector::*work)(const Shared&));
    void too_late(const Shared& attempt);
    bool cancelled(const Shared& attempt);
    std::string failure(const Attempt& attempt) const;

    EventLoop& event_loop_;
    const Job& job_;
    std::unordered_set<Shared> attempts_;
    std::unordered_map<int, IpAddress> last_good_;  // by member
};

}  // namespace lapwing::tcp
