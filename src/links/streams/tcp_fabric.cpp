// TCP as a fabric: connections of the host engine's own, one between two ranks, by the endpoint of the job,
// where the kernel engine does not run. The protocol is links/streams/stream_fabric.hpp.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <numeric>
#include <utility>

#include "links/fabrics.hpp"
#include "links/streams/stream_fabric.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/endpoint.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing {
namespace {

// Communicators count from JobNetwork::number_of_all, or have random numbers.
constexpr std::uint64_t group_of_fabric = UINT64_MAX - 2;

class TcpFabric final : public StreamFabric {
  public:
    explicit TcpFabric(const FabricOptions& options);
    ~TcpFabric() override {
        // In a child of fork the connections are the parent's.
        const bool in_child = process_ != ::getpid();
        disconnect(in_child);
        if (in_child) static_cast<void>(connections_of_job_.release());
    }

    const char* name() const override { return "tcp"; }
    std::string description() const override { return description_; }
    // A connected peer that ends wakes the sleeper.
    std::chrono::nanoseconds max_sleep() override {
        const auto lock = hold();
        return awaits_any() ? PeerWatch::interval : std::chrono::nanoseconds(-1);
    }
    void give_up(const std::string& why) override {
        StreamFabric::give_up(why);
        connections_of_job_->give_up(why);
    }

  private:
    std::vector<std::byte> card() const override { return {}; }
    void reach(const std::vector<Peer>& peers, int self, const JobKey& key) override;
    // No connection breaks that was never made: a peer that ends before it has connected would be waited for
    // for ever. If this rank is the one that connects, the attempt fails.
    bool asks_kernel(int peer) const override { return peer > self_ && is_awaited(peer); }

    const pid_t process_ = ::getpid();
    std::string description_;
    int self_ = 0;
    tcp::Endpoint* const endpoint_;
    std::unique_ptr<Connections> connections_of_job_;
};

TcpFabric::TcpFabric(const FabricOptions& options)
    : StreamFabric(options.internet), endpoint_(options.sockets) {
    const auto needed = static_cast<std::uint64_t>(options.ranks - 1) + tcp::reserved_descriptors;
    if (tcp::make_room_for_descriptors(needed) < needed)
        throw Error(ErrorCode::system, "too few descriptors for {} ranks; raise `ulimit -n`", options.ranks);
    utsname system{};
    ::uname(&system);
    description_ =
        fmt::format("Linux {}, sockets on {}", system.release, tcp::describe_interfaces(options.internet));
}

void TcpFabric::reach(const std::vector<Peer>& peers, int self, const JobKey&) {
    self_ = self;
    std::vector<int> members(peers.size());
    std::iota(members.begin(), members.end(), 0);
    connections_of_job_ = endpoint_->group(group_of_fabric, std::move(members), self, 1);
    connect(*connections_of_job_);
}

}  // namespace

std::unique_ptr<Fabric> open_tcp(const FabricOptions& options) {
    return std::make_unique<TcpFabric>(options);
}

}  // namespace lapwing
