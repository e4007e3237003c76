#include "lapwing/doctor/probe_acceptor.hpp"

#include "lapwing/doctor/measure.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds partner_limit{5000};   // until a partner begins to measure
constexpr std::chrono::milliseconds stranger_limit{1000};  // of one that has not connected so far
constexpr std::chrono::milliseconds serving_limit{6000};

int members_of(const ReachTask& task) {
    return static_cast<int>(task.members.size());
}

}  // namespace

tcp::Claim claim_of(const ReachTask& task, Probe probe, int from, int to) {
    return {static_cast<std::uint64_t>(probe), static_cast<std::uint32_t>(from + members_of(task)),
            static_cast<std::uint32_t>(to), 0};
}

ProbeAcceptor::ProbeAcceptor(const ReachTask& task, const tcp::Options& options, int self)
    : reached_us_(task.members.size()), finished_(task.members.size()) {
    const ReachTask::Member& own = task.members[static_cast<std::size_t>(self)];
    job_.options = options;
    job_.options.rails = false;  // each address is tried by itself
    job_.key = task.key;
    job_.members.resize(2 * task.members.size());
    job_.self = self;
    std::vector<tcp::Socket> listeners;
    for (std::uint16_t port : own.ports) {
        for (tcp::Socket& listener : tcp::listen_on(own.places, job_.options, port))
            listeners.push_back(std::move(listener));
    }
    tcp::Acceptor::Callbacks callbacks;
    const auto members = static_cast<std::uint32_t>(task.members.size());
    callbacks.refuses = [members](const tcp::Claim& claim) {
        return claim.from < members ? "no agent connects by this number" : nullptr;
    };
    callbacks.admit = [this, members](const tcp::Claim& claim, tcp::Socket socket, const std::string&) {
        const std::lock_guard lock(mutex_);
        const std::size_t from = claim.from - members;
        reached_us_[from] = true;
        if (claim.group == static_cast<std::uint64_t>(Probe::finished)) finished_[from] = true;
        if (claim.group == static_cast<std::uint64_t>(Probe::measure))
            measurements_.emplace(static_cast<int>(from), std::move(socket));
        changed_.notify_all();
    };
    callbacks.starved = [](const std::string&) {};
    acceptor_ =
        std::make_unique<tcp::Acceptor>(event_loop_, job_, std::move(listeners), std::move(callbacks));
    event_loop_.post([this] { acceptor_->open(); });
}

bool ProbeAcceptor::has_reached_us(int peer) {
    const std::lock_guard lock(mutex_);
    return reached_us_[static_cast<std::size_t>(peer)];
}

tcp::Socket ProbeAcceptor::await_measurement(int peer, Clock::time_point end) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, end, [&] { return measurements_.contains(peer); });
    const auto found = measurements_.find(peer);
    if (found == measurements_.end()) return {};
    tcp::Socket socket = std::move(found->second);
    measurements_.erase(found);
    return socket;
}

void ProbeAcceptor::serve(int peer) {
    const auto end = Clock::now() + serving_limit;
    while (Clock::now() < end) {
        const auto limit = has_reached_us(peer) ? partner_limit : stranger_limit;
        const tcp::Socket socket = await_measurement(peer, Clock::now() + limit);
        if (!socket || serve_measurement(socket.get(), end)) return;
    }
}

void ProbeAcceptor::await_finished(const std::set<int>& reached, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] {
        for (std::size_t peer = 0; peer < finished_.size(); ++peer) {
            if (!finished_[peer] && (reached_us_[peer] || reached.contains(static_cast<int>(peer))))
                return false;
        }
        return true;
    });
}

}  // namespace lapwing::tool
