// TCP as a fabric: connections of the host engine's own, one between two ranks, where the kernel engine does
// not run. The protocol is links/streams/stream_fabric.hpp.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/messages.hpp"
#include "links/fabrics.hpp"
#include "links/streams/stream_fabric.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/endpoint.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing {
namespace {

class TcpFabric final : public StreamFabric {
  public:
    explicit TcpFabric(const FabricOptions& options);
    ~TcpFabric() override {
        // In a child of fork the connections are the parent's.
        const bool in_child = process_ != ::getpid();
        disconnect(in_child);
        if (!in_child) return;
        static_cast<void>(connections_of_job_.release());
        static_cast<void>(endpoint_.release());
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
    std::vector<std::byte> card() const override {
        const tcp::Address own = endpoint_->address();
        const auto* const begin = reinterpret_cast<const std::byte*>(&own);
        return {begin, begin + sizeof own};
    }
    void reach(const std::vector<Peer>& peers, int self, const JobKey& key) override;
    // No connection breaks that was never made: a peer that ends before it has connected would be waited for
    // for ever. If this rank is the one that connects, the attempt fails.
    bool asks_kernel(int peer) const override { return peer > self_ && is_awaited(peer); }

    const pid_t process_ = ::getpid();
    std::string description_;
    int self_ = 0;
    std::unique_ptr<tcp::Endpoint> endpoint_;
    std::unique_ptr<Connections> connections_of_job_;
};

TcpFabric::TcpFabric(const FabricOptions& options) : StreamFabric(options.internet) {
    const auto needed = static_cast<std::uint64_t>(options.ranks - 1) + tcp::reserved_descriptors;
    if (tcp::make_room_for_descriptors(needed) < needed)
        throw Error(ErrorCode::system, "too few descriptors for {} ranks; raise `ulimit -n`", options.ranks);
    tcp::Options internet = options.internet;
    // A start sends little of a long message, so a bound would only cost wake-ups.
    internet.unsent_bytes = 0;
    endpoint_ = std::make_unique<tcp::Endpoint>(
        internet, [this](const std::string& line) { print_message("lapwing: rank {}: {}\n", self_, line); });
    utsname system{};
    ::uname(&system);
    description_ =
        fmt::format("Linux {}, sockets on {}", system.release, tcp::describe_interfaces(options.internet));
}

void TcpFabric::reach(const std::vector<Peer>& peers, int self, const JobKey& key) {
    std::vector<tcp::Address> endpoints(peers.size());
    std::vector<int> members;
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        tcp::Address& endpoint = endpoints[rank];
        if (peers[rank].address.size() != sizeof endpoint) refuse_address(rank);
        std::memcpy(&endpoint, peers[rank].address.data(), sizeof endpoint);
        std::memset(endpoint.name, 0, sizeof endpoint.name);
        peers[rank].host.copy(endpoint.name, sizeof endpoint.name - 1);
        members.push_back(static_cast<int>(rank));
    }
    self_ = self;
    tcp::Key bytes;
    static_assert(sizeof bytes == sizeof key);
    std::memcpy(bytes.data(), key.data(), sizeof bytes);
    endpoint_->admit(bytes, std::move(endpoints), self);
    connections_of_job_ = endpoint_->group(1, std::move(members), self, 1);
    connect(*connections_of_job_);
}

}  // namespace

std::unique_ptr<Fabric> open_tcp(const FabricOptions& options) {
    return std::make_unique<TcpFabric>(options);
}

}  // namespace lapwing
