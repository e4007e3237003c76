#include "links/tcp/endpoint.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "links/tcp/acceptor.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/connection_table.hpp"
#include "links/tcp/connector.hpp"

namespace lapwing::tcp {
namespace {

void start_sodium() {
    if (sodium_init() < 0)
        throw Error(ErrorCode::system,
                    "the system returns no random numbers: is getrandom() forbidden here?");
}

}  // namespace

Key random_key() {
    start_sodium();
    Key key;
    randombytes_buf(key.data(), key.size());
    return key;
}

Job::~Job() {
    sodium_memzero(key.data(), key.size());
}

// Of two members of a group the one with the larger number connects. Anyone may call a service.
bool may_connect(const Claim& claim) {
    return claim.from > claim.to;
}

// A connection whose group does not exist here yet.
struct Parked {
    Claim claim;
    Socket socket;
    std::string address;
};

struct Endpoint::State {
    const pid_t process = getpid();
    Job job;
    Log log;
    std::vector<Socket> listeners;
    std::unique_ptr<Connector> connector;
    std::unique_ptr<Acceptor> acceptor;

    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::shared_ptr<ConnectionTable>> groups;
    std::unordered_map<std::uint64_t, std::vector<Parked>> parked;
    std::unordered_map<std::uint64_t, std::shared_ptr<Accepted>> services;

    EventLoop event_loop;  // last: its work uses the other members

    std::shared_ptr<ConnectionTable> find(std::uint64_t group) {
        const std::lock_guard lock(mutex);
        const auto found = groups.find(group);
        return found == groups.end() ? nullptr : found->second;
    }

    std::vector<std::shared_ptr<ConnectionTable>> all() {
        const std::lock_guard lock(mutex);
        std::vector<std::shared_ptr<ConnectionTable>> result;
        for (const auto& [group, table] : groups) result.push_back(table);
        return result;
    }

    void connect(const std::shared_ptr<ConnectionTable>& table, int peer, int lane) {
        event_loop.post([this, table, peer, lane] { connector->connect(table, peer, lane); });
    }

    // On the event thread:

    const char* refuses(const Claim& claim) {
        const auto table = find(claim.group);
        if (table && !may_connect(claim)) return "it belongs to this job, but must not connect to this rank";
        return table ? table->refuses(static_cast<int>(claim.from), static_cast<int>(claim.lane)) : nullptr;
    }

    void take_in(const Claim& claim, Socket socket, const std::string& address) {
        std::shared_ptr<ConnectionTable> table;
        std::shared_ptr<Accepted> accepted;
        {
            const std::lock_guard lock(mutex);
            const auto found = groups.find(claim.group);
            const auto service = services.find(claim.group);
            if (found != groups.end())
                table = found->second;
            else if (service != services.end())
                accepted = service->second;
            else
                return park(claim, std::move(socket), address);
        }
        if (accepted != nullptr) return (*accepted)(static_cast<int>(claim.from), std::move(socket));
        if (!table->take_in(static_cast<int>(claim.from), static_cast<int>(claim.lane), socket.get(),
                            address))
            return;
        socket.release();
        table->tell();
    }

    // With the lock held.
    std::vector<Parked> take_parked(std::uint64_t group) {
        auto found = parked.extract(group);
        return found.empty() ? std::vector<Parked>() : std::move(found.mapped());
    }

    // With the lock held.
    void park(const Claim& claim, Socket socket, const std::string& address) {
        const int descriptor = socket.get();
        auto& waiting = parked[claim.group];
        // The peer has closed an older one before it made this one.
        const auto older =
            std::ranges::find_if(waiting, [&](const Parked& one) { return one.claim == claim; });
        if (older != waiting.end()) {
            event_loop.forget(older->socket.get());
            waiting.erase(older);
        }
        waiting.push_back({claim, std::move(socket), address});
        // Edge-triggered: runs once, when the peer leaves.
        event_loop.watch(
            descriptor, EPOLLRDHUP | EPOLLET,
            [this, group = claim.group, descriptor](unsigned events) { unpark(group, descriptor, events); });
    }

    void unpark(std::uint64_t group, int descriptor, unsigned events) {
        const std::lock_guard lock(mutex);
        const auto waiting = parked.find(group);
        if (waiting == parked.end()) return;
        const auto left = std::ranges::find_if(
            waiting->second, [&](const Parked& one) { return one.socket.get() == descriptor; });
        if (left == waiting->second.end()) return;
        // The peer's messages before it left may be all that this side needs.
        int unread = 0;
        if ((events & EPOLLERR) == 0 && ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0) return;
        event_loop.forget(descriptor);
        waiting->second.erase(left);
        if (waiting->second.empty()) parked.erase(waiting);
    }

    void starved(const std::string& why) {
        for (const auto& table : all()) {
            table->fail_awaited(why);
            table->tell();
        }
    }
};

// The connections of one group, for engines; or the one of a call.
class Endpoint::Group final : public Connections {
  public:
    Group(State& endpoint, std::shared_ptr<ConnectionTable> table)
        : endpoint_(endpoint), table_(std::move(table)) {}
    ~Group() override {
        // After fork(), a shutdown in the child would end the connections of the parent as well.
        if (process_ != getpid()) return;
        table_->close();
        {
            const std::lock_guard lock(endpoint_.mutex);
            const auto found = endpoint_.groups.find(table_->group());
            if (found != endpoint_.groups.end() && found->second == table_) endpoint_.groups.erase(found);
        }
        endpoint_.event_loop.post([&endpoint = endpoint_] { endpoint.connector->drop_closed(); });
    }

    int lanes() const override { return table_->lanes(); }
    void want(int peer, int lane) override {
        if (table_->want(peer, lane)) endpoint_.connect(table_, peer, lane);
    }
    int descriptor(int peer, int lane) override { return table_->descriptor(peer, lane); }
    void on_change(std::function<void()> work) override { table_->on_change(std::move(work)); }
    std::string describe(int peer) const override {
        const Job& job = endpoint_.job;
        const Address& address = job.members[static_cast<std::size_t>(table_->member(peer))];
        std::string where = table_->address(peer);
        if (where.empty()) {
            const auto ips = routes(job.own, address);
            if (!ips.empty()) where = text(ips.front());
        }
        return fmt::format("rank {} ({}{}{})", peer, address.name, where.empty() ? "" : ", ", where);
    }
    void give_up(const std::string& why) override {
        table_->give_up(why);
        table_->tell();
    }
    EventLoop& event_loop() override { return endpoint_.event_loop; }

  private:
    const pid_t process_ = getpid();
    State& endpoint_;
    const std::shared_ptr<ConnectionTable> table_;
};

Endpoint::Endpoint(const Options& options, Log log) {
    check(options);
    start_sodium();
    state_ = std::make_unique<State>();
    State& state = *state_;
    state.job.options = options;
    state.log = std::move(log);
    const auto ips = choose(options, interfaces());
    Address& own = state.job.own;
    std::memset(static_cast<void*>(&own), 0, sizeof own);
    std::ranges::copy(ips, std::begin(own.ips));
    own.host = host_number();
    host_name().copy(own.name, sizeof own.name - 1);
    state.listeners = listen_on(ips, state.job.options, own.port);
}

Endpoint::~Endpoint() {
    // In a child of fork all of the state is the parent's.
    if (state_->process != getpid()) static_cast<void>(state_.release());
}

Address Endpoint::address() const {
    return state_->job.own;
}

void Endpoint::admit(const Key& key, std::vector<Address> members, int self) {
    State& state = *state_;
    if (state.job.self >= 0) throw Error(ErrorCode::internal, "admit() was called twice on this endpoint");
    if (self < 0 || self >= static_cast<int>(members.size()))
        throw_invalid("member {1} is out of range: the job has {0} members", members.size(), self);
    // The names come from other processes.
    for (Address& member : members) member.name[sizeof member.name - 1] = '\0';
    state.job.key = key;
    state.job.members = std::move(members);
    state.job.self = self;
    state.connector = std::make_unique<Connector>(state.event_loop, state.job);
    Acceptor::Callbacks callbacks;
    callbacks.refuses = [&state](const Claim& claim) { return state.refuses(claim); };
    callbacks.admit = [&state](const Claim& claim, Socket socket, const std::string& address) {
        state.take_in(claim, std::move(socket), address);
    };
    callbacks.starved = [&state](const std::string& why) { state.starved(why); };
    callbacks.log = state.log;
    state.acceptor = std::make_unique<Acceptor>(state.event_loop, state.job, std::move(state.listeners),
                                                std::move(callbacks));
    state.event_loop.post([&state] { state.acceptor->open(); });
}

std::unique_ptr<Connections> Endpoint::group(std::uint64_t group, std::vector<int> members, int rank,
                                             int lanes) {
    State& state = *state_;
    if (state.job.self < 0)
        throw Error(ErrorCode::internal, "group() was called before admit() on this endpoint");
    const auto ranks = static_cast<int>(members.size());
    const auto in_job = [&](int member) {
        return member >= 0 && member < static_cast<int>(state.job.members.size());
    };
    if (rank < 0 || rank >= ranks || lanes < 1 || !std::ranges::all_of(members, in_job) ||
        members[static_cast<std::size_t>(rank)] != state.job.self)
        throw_invalid("group {}: rank {} of {} is not member {} of this job, or {} lanes are too few", group,
                      rank, ranks, state.job.self, lanes);
    auto table = std::make_shared<ConnectionTable>(group, std::move(members), rank, lanes);
    std::vector<Parked> waiting;
    {
        const std::lock_guard lock(state.mutex);
        if (!state.groups.emplace(group, table).second) throw_invalid("group {} already exists", group);
        waiting = state.take_parked(group);
    }
    for (Parked& one : waiting) {
        state.event_loop.forget(one.socket.get());
        if (may_connect(one.claim) &&
            table->take_in(static_cast<int>(one.claim.from), static_cast<int>(one.claim.lane),
                           one.socket.get(), one.address))
            one.socket.release();
    }
    return std::make_unique<Group>(state, std::move(table));
}

void Endpoint::serve(std::uint64_t service, Accepted accepted) {
    State& state = *state_;
    auto shared = std::make_shared<Accepted>(std::move(accepted));
    std::vector<Parked> waiting;
    {
        const std::lock_guard lock(state.mutex);
        state.services[service] = shared;
        waiting = state.take_parked(service);
    }
    for (Parked& one : waiting) {
        state.event_loop.forget(one.socket.get());
        state.event_loop.post([shared, from = static_cast<int>(one.claim.from),
                               socket = std::make_shared<Socket>(std::move(one.socket))] {
            (*shared)(from, std::move(*socket));
        });
    }
}

void Endpoint::end_service(std::uint64_t service) {
    const std::lock_guard lock(state_->mutex);
    state_->services.erase(service);
}

std::unique_ptr<Connections> Endpoint::call(std::uint64_t service, int member) {
    State& state = *state_;
    if (state.job.self < 0 || member < 0 || member >= static_cast<int>(state.job.members.size()) ||
        member == state.job.self)
        throw_invalid("cannot connect to member {}", member);
    auto table = std::make_shared<ConnectionTable>(service, std::vector{state.job.self, member}, 0, 1);
    table->want(1, 0);
    state.connect(table, 1, 0);
    return std::make_unique<Group>(state, std::move(table));
}

EventLoop& Endpoint::event_loop() {
    return state_->event_loop;
}

}  // namespace lapwing::tcp
