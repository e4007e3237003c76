// TCP connections between the processes of a job.
//
// Every process has an Endpoint: a listening socket, and a thread that makes and accepts connections and
// sleeps otherwise. The members of a job exchange the addresses of their endpoints and a random key in some
// other way (through the native MPI). Each connection begins with a handshake in which both sides prove that
// they know the key (HMAC of fresh random numbers); the key itself is never sent. Strangers are turned away
// with a line in the log; the job goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "links/connections.hpp"
#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {

class Endpoint {
  public:
    // Called on the event thread with a line for each stranger that was turned away.
    using Log = std::function<void(const std::string&)>;

    // Starts listening. Throws Error (system, invalid_argument).
    explicit Endpoint(const Options& options, Log log = {});
    ~Endpoint();

    Address address() const;
    // Must be called once, before group(). `members`: the addresses of all processes of the job; `self`: this
    // one.
    void admit(const Key& key, std::vector<Address> members, int self);

    // The connections of one group. `members`: its ranks as members of the job; `rank`: this rank in the
    // group; `group`: a number that only this group has, on all its ranks. The endpoint must outlive the
    // connections.
    std::unique_ptr<Connections> group(std::uint64_t group, std::vector<int> members, int rank, int lanes);

    // Connections outside of groups, for questions that one member asks another at any time. `service`: a
    // number that no group has. After admit(), at any time, by any thread.

    // Runs `accepted` on the event thread for each connection that `member` has made by call().
    using Accepted = std::function<void(int member, Socket socket)>;
    void serve(std::uint64_t service, Accepted accepted);
    // No connection is accepted any more. `accepted` may still run while this function is called.
    void end_service(std::uint64_t service);
    // One new connection to `member`: that of peer 1 on lane 0. This side connects, whichever member has the
    // higher number.
    std::unique_ptr<Connections> call(std::uint64_t service, int member);

    EventLoop& event_loop();

  private:
    class Group;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lapwing::tcp
