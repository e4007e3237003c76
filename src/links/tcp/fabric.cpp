// TCP as a fabric: the host engine's own connections, one between two ranks, where the kernel engine does not
// run. The protocol is links/streams.hpp.
#include "links/fabric.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/short_message.hpp"
#include "links/fabric_lock.hpp"
#include "links/fabrics.hpp"
#include "links/streams.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/descriptors.hpp"
#include "links/tcp/endpoint.hpp"
#include "links/tcp/presence.hpp"

namespace lapwing {
namespace {

// Between two looks at peers that are to connect to this one.
constexpr auto look_interval = std::chrono::milliseconds(200);

// What a rank tells the others.
struct Addresses {
    tcp::Address endpoint;
    tcp::Address presence;
};

class TcpFabric final : public Fabric {
  public:
    explicit TcpFabric(const FabricOptions& options);
    ~TcpFabric() override {
        // In a child of fork the connections are the parent's.
        if (process_ == ::getpid()) return;
        static_cast<void>(streams_.release());
        static_cast<void>(connections_.release());
        static_cast<void>(endpoint_.release());
    }
    TcpFabric(const TcpFabric&) = delete;
    TcpFabric& operator=(const TcpFabric&) = delete;

    const char* name() const override { return "tcp"; }
    std::string description() const override { return description_; }
    bool rdma() const override { return false; }

    std::vector<std::byte> address() const override {
        const Addresses own{endpoint_->address(), presence_.address()};
        const auto* const begin = reinterpret_cast<const std::byte*>(&own);
        return {begin, begin + sizeof own};
    }
    void join(std::vector<Peer> peers, int self, const JobKey& key) override;
    std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members) override;

    bool progress() override {
        return lock_.drive([&] { return step(); });
    }
    bool has_news() override {
        const auto lock = lock_.hold();
        return completed() != known_completed_;
    }
    void forget_completed() override {
        const auto lock = lock_.hold();
        known_completed_ = completed();
    }
    // What is readable stays so until somebody has read it.
    bool prepare_to_sleep() override { return true; }
    int descriptor() const override { return streams_->descriptor(); }
    // The event thread of the connections looks after silent peers, where there is a connection.
    std::chrono::nanoseconds longest_sleep() override {
        const auto lock = lock_.hold();
        return streams_->awaited().empty() ? std::chrono::nanoseconds(-1) : look_interval;
    }

    bool flush() override {
        const auto lock = lock_.hold();
        step();
        return !streams_->has_output() || streams_->peers_lost() > 0 || !given_up_.empty();
    }
    void give_up(const std::string& why) override {
        const auto lock = lock_.hold();
        if (given_up_.empty()) given_up_ = why;
        connections_->give_up(why);
    }

  private:
    friend class TcpLink;

    bool step() {
        const bool moved = streams_->progress();
        // Once more when none is awaited any more: that closes what it has open.
        if (!streams_->awaited().empty() || !awaited_.empty()) look_for_ended_peers();
        return moved;
    }
    void look_for_ended_peers();
    std::uint64_t completed() const {
        return streams_->completed() + (given_up_.empty() ? 0 : 1) - taken_at_once_;
    }
    void check_usable() const {
        if (!given_up_.empty()) throw Error(ErrorCode::link, given_up_);
    }
    void check_peer(int peer) const {
        const std::string& lost = streams_->lost(peer);
        if (!lost.empty()) throw Error(ErrorCode::link, lost);
    }

    const pid_t process_ = ::getpid();
    std::string description_;
    int self_ = 0;
    std::unique_ptr<tcp::Endpoint> endpoint_;
    std::unique_ptr<Connections> connections_;  // of the whole job
    std::unique_ptr<Streams> streams_;
    tcp::Presence presence_;
    std::chrono::steady_clock::time_point next_look_{};
    std::vector<int> awaited_;  // at the last look
    FabricLock lock_;
    std::uint64_t known_completed_ = 0;  // to the progress thread
    std::uint64_t taken_at_once_ = 0;    // by who has started them: nobody's news
    std::string given_up_;
};

class TcpLink final : public Link {
  public:
    TcpLink(TcpFabric& fabric, std::uint64_t group, std::vector<int> members)
        : fabric_(fabric), group_(group), members_(std::move(members)) {}

    const char* name() const override { return "tcp"; }
    bool any_thread() const override { return true; }
    bool ready() override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        start(peer, transfer, [&](Streams& streams, int place) -> Streams::Message& {
            return streams.send(place, group_, channel, data, bytes);
        });
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        start(peer, transfer, [&](Streams& streams, int place) -> Streams::Message& {
            return streams.recv(place, group_, channel, data, bytes);
        });
    }

    bool test(Transfer& transfer) override {
        if (!transfer.active) return true;
        auto& message = *reinterpret_cast<Streams::Message*>(transfer.handle);
        const auto lock = fabric_.lock_.hold();
        Streams& streams = *fabric_.streams_;
        if (!message.complete) {
            const std::uint64_t before = fabric_.completed();
            fabric_.step();
            // No news for the progress thread: who tests knows.
            if (message.complete && fabric_.completed() == before + 1 && fabric_.known_completed_ == before)
                ++fabric_.known_completed_;
        }
        if (!message.complete) {
            fabric_.check_usable();
            if (streams.peers_lost() > 0)
                for (const int member : members_) fabric_.check_peer(member);
            return false;
        }
        if (!message.failure.empty()) throw Error(message.code, message.failure);
        streams.finish(message);
        transfer = {};
        return true;
    }

    bool sends_slowly(int, std::uint64_t bytes) const override { return bytes > max_short_bytes; }
    void progress() override {
        const auto lock = fabric_.lock_.hold();
        fabric_.step();
    }
    void flush() override {
        const auto lock = fabric_.lock_.hold();
        fabric_.streams_->flush();
    }

  private:
    template <typename Start>
    void start(int peer, Transfer& transfer, const Start& how) {
        const int place = members_[static_cast<std::size_t>(peer)];
        const auto lock = fabric_.lock_.hold();
        fabric_.check_usable();
        fabric_.check_peer(place);
        Streams& streams = *fabric_.streams_;
        Streams::Message& message = how(streams, place);
        if (message.complete && message.failure.empty()) {
            ++fabric_.taken_at_once_;
            streams.finish(message);
            transfer = {};
        } else {
            transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
        }
    }

    TcpFabric& fabric_;
    const std::uint64_t group_;
    const std::vector<int> members_;
};

TcpFabric::TcpFabric(const FabricOptions& options) : presence_(options.internet) {
    const auto needed = static_cast<std::uint64_t>(options.ranks - 1) + tcp::kept_descriptors;
    if (tcp::make_room_for_descriptors(needed) < needed)
        throw Error(ErrorCode::system,
                    fmt::format("too few descriptors for {} ranks; raise `ulimit -n`", options.ranks));
    tcp::Options internet = options.internet;
    // A start sends little of what is long, so a bound would only cost wake-ups.
    internet.unsent_bytes = 0;
    endpoint_ = std::make_unique<tcp::Endpoint>(internet, [this](const std::string& line) {
        fmt::print(stderr, "lapwing: rank {}: {}\n", self_, line);
    });
    utsname system{};
    ::uname(&system);
    description_ =
        fmt::format("Linux {}, sockets on {}", system.release, tcp::names_of_interfaces(options.internet));
}

void TcpFabric::join(std::vector<Peer> peers, int self, const JobKey& key) {
    std::vector<tcp::Address> endpoints;
    std::vector<tcp::Address> presences;
    std::vector<int> members;
    for (std::size_t place = 0; place < peers.size(); ++place) {
        const Peer& peer = peers[place];
        Addresses addresses;
        if (peer.address.size() != sizeof addresses)
            throw Error(ErrorCode::link,
                        fmt::format("rank {} has told an address of another form: do all ranks run the same "
                                    "Lapwing?",
                                    place));
        std::memcpy(&addresses, peer.address.data(), sizeof addresses);
        tcp::Address& endpoint = endpoints.emplace_back(addresses.endpoint);
        std::memset(endpoint.name, 0, sizeof endpoint.name);
        peer.host.copy(endpoint.name, sizeof endpoint.name - 1);
        presences.push_back(addresses.presence);
        members.push_back(static_cast<int>(place));
    }
    self_ = self;
    tcp::Key bytes;
    static_assert(sizeof bytes == sizeof key);
    std::memcpy(bytes.data(), key.data(), sizeof bytes);
    const int ranks = static_cast<int>(members.size());
    endpoint_->admit(bytes, std::move(endpoints), self);
    presence_.join(std::move(presences));
    connections_ = endpoint_->group(1, std::move(members), self, 1);
    streams_ = std::make_unique<Streams>(*connections_, ranks);
}

// Nothing breaks where nothing was made: a peer that ends before it has connected would be waited for for
// ever. Of those to which this side connects it learns by itself.
void TcpFabric::look_for_ended_peers() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    std::vector<int> awaited = streams_->awaited();
    std::erase_if(awaited, [&](int peer) { return peer < self_; });
    std::sort(awaited.begin(), awaited.end());
    std::vector<int> slow;
    std::set_intersection(awaited.begin(), awaited.end(), awaited_.begin(), awaited_.end(),
                          std::back_inserter(slow));
    awaited_ = std::move(awaited);
    int ended = 0;
    const std::string why = presence_.look(slow, ended);
    if (!why.empty())
        streams_->lose(ended, fmt::format("{} is out of reach: {}", connections_->describe(ended), why));
}

std::unique_ptr<Link> TcpFabric::link(std::uint64_t group, std::vector<int> members) {
    return std::make_unique<TcpLink>(*this, group, std::move(members));
}

}  // namespace

std::unique_ptr<Fabric> open_tcp(const FabricOptions& options) {
    return std::make_unique<TcpFabric>(options);
}

}  // namespace lapwing
