// Accepts connections and lets in those that prove themselves. Lives on the attendant's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "links/attendant.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/job.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {

class Doorkeeper {
  public:
    struct House {
        // Why a member that has proven itself is not let in; null: it is.
        std::function<const char*(const Claim&)> refuses;
        // A connection, proven and welcomed. Its address is the other side's.
        std::function<void(const Claim&, Socket, const std::string& address)> take_in;
        // Nothing can be accepted for lack of descriptors or memory.
        std::function<void(const std::string& why)> starved;
        Endpoint::Log log;
    };

    Doorkeeper(Attendant& attendant, const Job& job, std::vector<Socket> listeners, House house);
    // By the attendant: begins to accept.
    void open();

  private:
    using Clock = std::chrono::steady_clock;
    struct Guest {
        Socket socket;
        Handshake handshake;
        std::string address;
        unsigned waits = 0;
    };
    // By arrival; the oldest first.
    using Guests = std::map<std::uint64_t, Guest>;

    void watch_doors();
    void accept_from(int listener);
    void pause(int error);
    void let_wait(Socket socket, const std::string& address);
    void go_on(std::uint64_t number);
    void turn_away(Guests::iterator guest, const std::string& why);
    void let_go(Guests::iterator guest);
    bool turn_oldest_away(bool greeted, const char* why);
    void say(const std::string& line);
    void say_how_many();

    Attendant& attendant_;
    const Job& job_;
    std::vector<Socket> listeners_;
    House house_;
    Guests guests_;
    std::uint64_t last_guest_ = 0;
    std::size_t greeted_ = 0;  // of the guests, those whose hello was sound
    Clock::time_point starving_{};
    bool starves_ = false;
    int said_ = 0;
    std::uint64_t unsaid_ = 0;
};

}  // namespace lapwing::tcp
