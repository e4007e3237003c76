// A job as its engines and networks see it: its ranks, and how they exchange what they must know of each
// other before there is a network. Two classes implement it: mpi/ by calls of the native MPI, c/ by its own
// connections.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/settings.hpp"
#include "links/fabric.hpp"
#include "links/tcp/endpoint.hpp"

namespace lapwing {

// Not thread-safe. All ranks call the collective functions in the same order.
class Job {
  public:
    Job(int rank, int ranks, Settings settings);
    virtual ~Job();

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    const Settings& settings() const { return settings_; }

    // Collective: the bytes of all ranks, by rank. Ranks may give different lengths. Throws Error (link).
    virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) = 0;
    // Collective, at the end of the job: returns when all ranks have called it. Calls `meanwhile` again and
    // again until then. Returns early if a rank is lost.
    virtual void leave_together(const std::function<void()>& meanwhile) = 0;
    // Prints a line for people: "lapwing: " is put before it.
    virtual void warn(const std::string& line) = 0;
    // The same, by rank 0 only.
    void warn_once(const std::string& line) {
        if (rank_ == 0) warn(line);
    }

    // Collective: the values of all ranks, by rank.
    template <typename Value>
    std::vector<Value> exchange_values(const Value& mine) {
        static_assert(std::is_trivially_copyable_v<Value>);
        std::vector<Value> values;
        for (const auto& bytes : exchange(std::as_bytes(std::span(&mine, 1)))) {
            Value& value = values.emplace_back();
            std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
        }
        return values;
    }
    // Collective: the text of the lowest rank that has one, with that rank's name before it: "rank 3 (node2):
    // ..."; empty if no rank has one.
    std::string agree(const std::string& text);
    // Collective: runs `step`. If it throws Error on some ranks, all ranks throw Error with the reason of the
    // lowest of them: these ranks with the code of their own error, the others with unsupported. A rank whose
    // step has thrown Error (invalid_argument) throws that error.
    void together(const std::function<void()>& step);

    // The endpoint for TCP connections between all ranks of the job. The first call is collective. Throws as
    // together().
    tcp::Endpoint& sockets();
    // The same, null before the first call.
    tcp::Endpoint* open_sockets() const { return sockets_.get(); }
    // Collective: random bytes that only the ranks of the job know.
    virtual JobKey shared_key();

    // The job's own links between hosts, for people. `threads`: a progress thread may use them.
    virtual std::string describe_links([[maybe_unused]] bool threads) const { return ""; }

    // Whether lists over these links cannot progress: the hosts need a network then.
    virtual bool links_stand_still() const { return false; }

    // How many file descriptors the job itself has yet to open.
    virtual std::uint64_t descriptors_to_come() const { return 0; }

  protected:
    // An endpoint as the settings want it, not yet joined with the other ranks. Throws Error (system,
    // invalid_argument).
    std::unique_ptr<tcp::Endpoint> make_sockets();
    // Takes an endpoint that has been joined with all ranks.
    void adopt(std::unique_ptr<tcp::Endpoint> sockets) { sockets_ = std::move(sockets); }
    // Closes the endpoint, before the members of a derived class are destroyed.
    void close_sockets() { sockets_.reset(); }

  private:
    const int rank_;
    const int ranks_;
    const Settings settings_;
    std::unique_ptr<tcp::Endpoint> sockets_;
};

}  // namespace lapwing
