// TCP connections between the processes of a job.
//
// Every process has an Endpoint: a listening socket and a thread that makes and accepts connections, asleep
// otherwise. The members of a job exchange the addresses of their endpoints and a random key by some other
// way (through the native MPI). Each connection begins with a handshake in which both sides prove that
// they know the key (HMAC of fresh random numbers); the key itself never travels. Whoever cannot is turned
// away, and said so in the log; the job goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "links/connections.hpp"
#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

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

}  // namespace lapwing::tcp
