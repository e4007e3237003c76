// Accepts connections and lets in those that prove themselves. Lives on the event thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "links/event/event_loop.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/job.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {

class Acceptor {
  public:
    struct Callbacks {
        // Why a member that has proven itself is not let in; null: it is.
        std::function<const char*(const Claim&)> refuses;
        // A connection, proven and welcomed. Its address is the other side's.
        std::function<void(const Claim&, Socket, const std::string& address)> take_in;
        // Nothing can be accepted for lack of descriptors or memory.
        std::function<void(const std::string& why)> starved;
        std::function<void(const std::string&)> log;
    };

    Acceptor(EventLoop& event_loop, const Job& job, std::vector<Socket> listeners, Callbacks callbacks);
    // On the event thread: begins to accept.
    void open();

  private:
    using Clock = std::chrono::steady_clock;
    struct PendingConnection {
        Socket socket;
        Handshake handshake;
        std::string address;
        unsigned waits = 0;
        EventLoop::Timer timer{};  // until it must have proved itself
    };
    // By arrival; the oldest first.
    using PendingConnections = std::map<std::uint64_t, PendingConnection>;

    void watch_doors();
    void accept_from(int listener);
    void pause(int error);
    void let_wait(Socket socket, const std::string& address);
    void go_on(std::uint64_t number);
    void turn_away(PendingConnections::iterator connection, const std::string& why);
    void let_go(PendingConnections::iterator connection);
    bool turn_oldest_away(bool greeted, const char* why);
    void say(const std::string& line);
    void say_how_many();

    EventLoop& event_loop_;
    const Job& job_;
    std::vector<Socket> listeners_;
    Callbacks callbacks_;
    PendingConnections pending_;
    std::uint64_t last_pending_ = 0;
    std::size_t greeted_ = 0;  // of the pending connections, those whose hello was sound
    Clock::time_point starving_{};
    bool starves_ = false;
    int said_ = 0;
    std::uint64_t unsaid_ = 0;
};

}  // namespace lapwing::tcp
