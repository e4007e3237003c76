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

// A value as bytes that ranks exchange, and back.
template <typename Value>
std::vector<std::byte> bytes_of(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}
template <typename Value>
std::vector<Value> values_of(const std::vector<std::vector<std::byte>>& blocks) {
    std::vector<Value> values(blocks.size());
    for (std::size_t rank = 0; rank < blocks.size(); ++rank)
        std::memcpy(&values[rank], blocks[rank].data(), std::min(blocks[rank].size(), sizeof(Value)));
    return values;
}

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
        return values_of<Value>(exchange(bytes_of(mine)));
    }
    // Collective: for each of `texts` that of the lowest rank whose text is not empty, with that rank's name
    // before it: "rank 3 (node2): ..."; empty if there is none. All ranks have as many texts.
    std::vector<std::string> agree(const std::vector<std::string>& texts);
    std::string agree(const std::string& text) { return agree(std::vector{text}).front(); }
    // Collective: runs `step`, and returns its bytes of all ranks, by rank. If it throws Error on some ranks,
    // all ranks throw Error with the reason of the lowest of them: these ranks with the code of their own
    // error, the others with unsupported. A rank whose step has thrown Error (invalid_argument) throws that
    // error.
    std::vector<std::vector<std::byte>> collect(const std::function<std::vector<std::byte>()>& step);
    // The same without bytes.
    void together(const std::function<void()>& step);

    // The endpoint for TCP connections between all ranks of the job. The first call is collective, and so is
    // each one with a `check`, which runs on every rank, before its endpoint is made. Throws as together().
    tcp::Endpoint& sockets(const std::function<void()>& check = nullptr);
    // Null before the first call of sockets().
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
    // With the name of this rank before it, if it is not empty.
    std::string named(const std::string& text) const;
    // Random bytes for all ranks, by rank 0; zeros at the others.
    JobKey draw_key() const;

    const int rank_;
    const int ranks_;
    const Settings settings_;
    std::unique_ptr<tcp::Endpoint> sockets_;
};

}  // namespace lapwing
