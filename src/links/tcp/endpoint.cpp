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
#include "links/tcp/addresses.hpp"
#include "links/tcp/dialer.hpp"
#include "links/tcp/doorkeeper.hpp"
#include "links/tcp/group.hpp"
#include "links/tcp/job.hpp"
#include "links/tcp/pulse.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {
namespace {

void start_sodium() {
    if (sodium_init() < 0)
        throw Error(ErrorCode::system, "the system gives no random numbers: is getrandom() forbidden here?");
}

}  // namespace

Job::~Job() {
    sodium_memzero(key.data(), key.size());
}

Key random_key() {
    start_sodium();
    Key key;
    randombytes_buf(key.data(), key.size());
    return key;
}

// A connection whose group is not known here yet.
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
    std::unique_ptr<Dialer> dialer;
    std::unique_ptr<Doorkeeper> doorkeeper;

    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::shared_ptr<Lines>> groups;
    std::unordered_map<std::uint64_t, std::vector<Parked>> parked;

    Attendant attendant;  // ends before what it uses

    std::shared_ptr<Lines> find(std::uint64_t group) {
        const std::lock_guard lock(mutex);
        const auto found = groups.find(group);
        return found == groups.end() ? nullptr : found->second;
    }

    std::vector<std::shared_ptr<Lines>> all() {
        const std::lock_guard lock(mutex);
        std::vector<std::shared_ptr<Lines>> result;
        for (const auto& [group, lines] : groups) result.push_back(lines);
        return result;
    }

    // What follows runs on the attendant's thread.

    const char* refuses(const Claim& claim) {
        const auto lines = find(claim.group);
        return lines ? lines->refuses(static_cast<int>(claim.from), static_cast<int>(claim.lane)) : nullptr;
    }

    void take_in(const Claim& claim, Socket socket, const std::string& address) {
        std::shared_ptr<Lines> lines;
        {
            const std::lock_guard lock(mutex);
            const auto found = groups.find(claim.group);
            if (found != groups.end())
                lines = found->second;
            else
                return park(claim, std::move(socket), address);
        }
        if (!lines->take_in(static_cast<int>(claim.from), static_cast<int>(claim.lane), socket.get(),
                            address))
            return;
        socket.release();
        lines->tell();
    }

    // With the lock held.
    void park(const Claim& claim, Socket socket, const std::string& address) {
        const int descriptor = socket.get();
        auto& waiting = parked[claim.group];
        // The newest counts: its peer has given up the older one.
        const auto older = std::find_if(waiting.begin(), waiting.end(),
                                        [&](const Parked& one) { return one.claim == claim; });
        if (older != waiting.end()) {
            attendant.forget(older->socket.get());
            waiting.erase(older);
        }
        waiting.push_back({claim, std::move(socket), address});
        // For one time, at the edge: when its peer leaves.
        attendant.watch(
            descriptor, EPOLLRDHUP | EPOLLET,
            [this, group = claim.group, descriptor](unsigned events) { unpark(group, descriptor, events); });
    }

    void unpark(std::uint64_t group, int descriptor, unsigned events) {
        const std::lock_guard lock(mutex);
        const auto waiting = parked.find(group);
        if (waiting == parked.end()) return;
        const auto left = std::find_if(waiting->second.begin(), waiting->second.end(),
                                       [&](const Parked& one) { return one.socket.get() == descriptor; });
        if (left == waiting->second.end()) return;
        // What it has sent before it left may be all that this side needs.
        int unread = 0;
        if ((events & EPOLLERR) == 0 && ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0) return;
        attendant.forget(descriptor);
        waiting->second.erase(left);
        if (waiting->second.empty()) parked.erase(waiting);
    }

    void starved(const std::string& why) {
        for (const auto& lines : all()) {
            lines->fail_awaited(why);
            lines->tell();
        }
    }

    void feel_pulses() {
        for (const auto& lines : all()) feel(*lines);
        attendant.post_after(pulse_interval(job.options.patience), [this] { feel_pulses(); });
    }
};

Endpoint::Endpoint(const Options& options, Log log) {
    check(options);
    start_sodium();
    state_ = std::make_unique<State>();
    State& state = *state_;
    state.job.options = options;
    state.log = std::move(log);
    const auto places = choose(options, interfaces());
    Address& own = state.job.own;
    std::memset(static_cast<void*>(&own), 0, sizeof own);
    std::copy(places.begin(), places.end(), std::begin(own.places));
    own.host = host_number();
    host_name().copy(own.name, sizeof own.name - 1);
    state.listeners = listen_on(places, options, own.port);
}

Endpoint::~Endpoint() {
    // In a child of fork: all of this is the parent's.
    if (state_->process != getpid()) static_cast<void>(state_.release());
}

Address Endpoint::address() const {
    return state_->job.own;
}

void Endpoint::admit(const Key& key, std::vector<Address> members, int self) {
    State& state = *state_;
    if (state.job.self >= 0) throw Error(ErrorCode::internal, "an endpoint is admitted once");
    if (self < 0 || self >= static_cast<int>(members.size()))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a job of {} members has no member {}", members.size(), self));
    // They come from outside.
    for (Address& member : members) member.name[sizeof member.name - 1] = '\0';
    state.job.key = key;
    state.job.members = std::move(members);
    state.job.self = self;
    state.dialer = std::make_unique<Dialer>(state.attendant, state.job);
    Doorkeeper::House house;
    house.refuses = [&state](const Claim& claim) { return state.refuses(claim); };
    house.take_in = [&state](const Claim& claim, Socket socket, const std::string& address) {
        state.take_in(claim, std::move(socket), address);
    };
    house.starved = [&state](const std::string& why) { state.starved(why); };
    house.log = state.log;
    state.doorkeeper = std::make_unique<Doorkeeper>(state.attendant, state.job, std::move(state.listeners),
                                                    std::move(house));
    state.attendant.post([&state] {
        state.doorkeeper->open();
        state.feel_pulses();
    });
}

std::unique_ptr<Connections> Endpoint::group(std::uint64_t group, std::vector<int> members, int rank,
                                             int lanes) {
    State& state = *state_;
    if (state.job.self < 0) throw Error(ErrorCode::internal, "an endpoint makes groups once it is admitted");
    const auto ranks = static_cast<int>(members.size());
    const auto in_job = [&](int member) {
        return member >= 0 && member < static_cast<int>(state.job.members.size());
    };
    if (rank < 0 || rank >= ranks || lanes < 1 || !std::all_of(members.begin(), members.end(), in_job) ||
        members[static_cast<std::size_t>(rank)] != state.job.self)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("group {}: rank {} of {} is not member {} of this job, or there are {} lanes",
                                group, rank, ranks, state.job.self, lanes));
    auto lines = std::make_shared<Lines>(group, std::move(members), rank, lanes);
    std::vector<Parked> waiting;
    {
        const std::lock_guard lock(state.mutex);
        if (!state.groups.emplace(group, lines).second)
            throw Error(ErrorCode::invalid_argument, fmt::format("there is a group {} already", group));
        const auto found = state.parked.find(group);
        if (found != state.parked.end()) {
            waiting = std::move(found->second);
            state.parked.erase(found);
        }
    }
    for (Parked& one : waiting) {
        state.attendant.forget(one.socket.get());
        if (lines->take_in(static_cast<int>(one.claim.from), static_cast<int>(one.claim.lane),
                           one.socket.get(), one.address))
            one.socket.release();
    }
    Group::Makers makers;
    makers.dial = [&state, lines](int peer, int lane) {
        state.attendant.post([&state, lines, peer, lane] { state.dialer->dial(lines, peer, lane); });
    };
    makers.closed = [&state, group] {
        {
            const std::lock_guard lock(state.mutex);
            state.groups.erase(group);
        }
        state.attendant.post([&state] { state.dialer->drop_closed(); });
    };
    return std::make_unique<Group>(std::move(lines), state.job, state.attendant, std::move(makers));
}

Attendant& Endpoint::attendant() {
    return state_->attendant;
}

}  // namespace lapwing::tcp
