// Accepts connections and admits those that prove themselves. Runs on the event thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "links/event/event_loop.hpp"
#include "links/tcp/address.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {

class Acceptor {
  public:
    struct Callbacks {
        // Why a member that has proven itself is not admitted; null if it is.
        std::function<const char*(const Claim&)> refuses;
        // A connection whose handshake is complete. `address`: the other side's.
        std::function<void(const Claim&, Socket, const std::string& address)> admit;
        // Nothing can be accepted for lack of descriptors or memory.
        std::function<void(const std::string& why)> starved;
        std::function<void(const std::string&)> log;
    };

    Acceptor(EventLoop& event_loop, const Job& job, std::vector<Socket> listeners, Callbacks callbacks);
    // Starts accepting, also after a pause.
    void open();

  private:
    using Clock = std::chrono::steady_clock;
    struct PendingConnection {
        Socket socket;
        Handshake handshake;
        std::string address;
        unsigned waits = 0;
        EventLoop::Timer timer{};  // for the handshake
    };
    // In the order of arrival.
    using PendingConnections = std::map<std::uint64_t, PendingConnection>;

    void accept_from(int listener);
    void pause(int error);
    void add_pending(Socket socket, const std::string& address);
    void advance_pending(std::uint64_t number);
    void reject(PendingConnections::iterator connection, const std::string& why);
    void drop(PendingConnections::iterator connection);
    bool reject_oldest(bool greeted, const char* why);
    void log(const std::string& line);
    void log_count();

    EventLoop& event_loop_;
    const Job& job_;
    std::vector<Socket> listeners_;
    Callbacks callbacks_;
    PendingConnections pending_;
    std::uint64_t last_pending_ = 0;
    std::size_t greeted_ = 0;  // pending connections with a valid hello
    Clock::time_point starving_{};
    bool starves_ = false;
    int logged_ = 0;
    std::uint64_t not_logged_ = 0;
};

}  // namespace lapwing::tcp
