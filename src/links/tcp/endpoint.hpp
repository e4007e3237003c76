// TCP connections between the processes of a job.
//
// Every process has an Endpoint: a listening socket and a thread that makes and accepts connections, asleep
// otherwise. The members of a job exchange the addresses of their endpoints and a random key by some other
// way (through the native MPI). Each connection begins with a handshake in which both sides prove that
// they know the key (HMAC of fresh random numbers); the key itself never travels. Whoever cannot is turned
// away, and said so in the log; the job goes on.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "links/connections.hpp"

namespace lapwing::tcp {

struct Options {
    // Interfaces to use: names (eth0), addresses (10.0.0.3) or networks (10.0.0.0/24), separated by commas,
    // tried in this order; empty: all that are up, loopback for peers on the same host only.
    std::string interfaces;
    std::string family = "auto";        // auto, ipv4, ipv6
    std::chrono::seconds patience{10};  // a peer that the network does not reach for so long is lost
    std::chrono::seconds handshake{5};  // a stranger that does not prove itself within is turned away
    int buffer_bytes = 0;               // of each socket, each direction; 0: the system's choice
};

// Checks the texts. Throws Error (invalid_argument) that names the variable and what is wrong.
void check(const Options& options);

using Key = std::array<unsigned char, 32>;
Key random_key();

// What a process tells the others of its endpoint. Plain bytes of a fixed size, to be sent by an allgather.
struct Address {
    static constexpr std::size_t most_places = 6;
    struct Place {
        std::uint8_t bytes[16];  // IPv4 in the first four
        std::uint8_t family;     // 4, 6; 0: none
        std::uint8_t prefix;     // length of its network's prefix, bits
        std::uint8_t loopback;
        std::uint8_t reserved;
    };
    Place places[most_places];
    std::uint64_t host;  // equal for processes on one host (same kernel and same network namespace)
    std::uint16_t port;
    char name[46];  // of the host, for messages; ends with zero
};
static_assert(std::is_trivially_copyable_v<Address>);

class GroupConnections;

class Endpoint {
  public:
    // Gets a line for each stranger that was turned away; called by the event thread.
    using Log = std::function<void(const std::string&)>;

    // Listens. Throws Error (system, invalid_argument) with what to do.
    explicit Endpoint(const Options& options, Log log = {});
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    Address address() const;
    // From now on connections can be made. `members` are the addresses of all processes of the job, `self`
    // the place of this one in it.
    void admit(const Key& key, std::vector<Address> members, int self);

    // The connections of one group: `members` are its ranks' places in the job's, `rank` is this one's rank
    // in the group; `group` is a number that only this group has, on all its ranks. The endpoint must outlive
    // it.
    std::unique_ptr<Connections> group(std::uint64_t group, std::vector<int> members, int rank, int lanes);

    EventLoop& event_loop();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Whether all of them are on one host.
bool one_host(const std::vector<Address>& members);

// How many more descriptors this process may open before it meets its limit (RLIMIT_NOFILE).
std::uint64_t free_descriptors();
// Raises the limit by that many, as far as the system lets it; by how many it did.
std::uint64_t raise_descriptor_limit(std::uint64_t by);
// free_descriptors(), after the limit has been raised towards `wanted` free ones, as far as the system lets
// it.
std::uint64_t make_room_for_descriptors(std::uint64_t wanted);

}  // namespace lapwing::tcp
