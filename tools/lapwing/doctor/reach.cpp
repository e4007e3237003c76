#include "lapwing/doctor/reach.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "lapwing/doctor/measure.hpp"
#include "lapwing/doctor/places.hpp"
#include "lapwing/doctor/probe_acceptor.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using Place = tcp::IpAddress;
using std::chrono::milliseconds;

constexpr milliseconds connect_limit{2000};  // the Connector's
constexpr milliseconds first_sign{2000};     // of a peer whose agent may still start
constexpr milliseconds last_try{300};        // after the first sign of a peer
constexpr milliseconds pause_between{100};
constexpr milliseconds finished_limit{3000};
constexpr std::size_t max_peers = 64;  // that each host tries; all of them, in smaller jobs
constexpr int max_rounds = 7;          // of measurements, each with another partner
constexpr std::size_t max_failures = 500;

// One address and port of one peer.
struct Attempt {
    int peer = 0;
    std::size_t place = 0;  // among the task's of that member
    std::size_t port = 0;
    tcp::Socket socket;
    std::optional<tcp::Handshake> handshake;
    Clock::time_point began;
    Clock::time_point next{};  // when it may be tried (again)
    bool reached = false;
    std::string failure;  // of the last try
    bool silent = false;  // nothing came back
    bool over = false;
};

class Agent {
  public:
    Agent(const ReachTask& task, const tcp::Options& options, int self)
        : task_(task),
          options_(options),
          self_(self),
          begin_(Clock::now()),
          signs_(task.members.size()),
          probes_(task, options, self) {
        own_.host = task.members[at(self)].host;
        std::copy_n(task.members[at(self)].places.begin(),
                    std::min(task.members[at(self)].places.size(), tcp::Address::max_ips), own_.ips);
    }

    void run(const std::function<void(const Json&)>& tell) {
        try_all();
        tell(
            {{"self", self_}, {"tried", attempts_.size()}, {"failures", failures()}, {"reached", reached()}});
        tell({{"self", self_}, {"measured", measure()}});
        tell_finished();
    }

  private:
    static std::size_t at(int index) { return static_cast<std::size_t>(index); }
    const ReachTask::Member& member(int index) const { return task_.members[at(index)]; }

    // All others, or some of them at growing distances.
    std::vector<int> peers() const {
        const auto all = static_cast<int>(task_.members.size());
        std::set<int> chosen;
        const auto most = std::min<std::size_t>(max_peers, task_.members.size() - 1);
        for (std::size_t i = 1; i <= most; ++i) {
            const auto distance = static_cast<int>(i * (task_.members.size() - 1) / most);
            chosen.insert((self_ + distance) % all);
        }
        return {chosen.begin(), chosen.end()};
    }

    std::vector<std::size_t> places_of(int peer) const {
        tcp::Address address{};
        address.host = member(peer).host;
        std::copy_n(member(peer).places.begin(), std::min(member(peer).places.size(), tcp::Address::max_ips),
                    address.ips);
        std::vector<std::size_t> order;
        for (const Place& place : tcp::routes(own_, address)) {
            for (std::size_t i = 0; i < member(peer).places.size(); ++i) {
                if (tcp::same_address(member(peer).places[i], place)) order.push_back(i);
            }
        }
        return order;
    }

    void list_attempts() {
        for (const int peer : peers()) {
            for (const std::size_t place : places_of(peer)) {
                for (std::size_t port = 0; port < member(peer).ports.size(); ++port) {
                    Attempt& one = attempts_.emplace_back();
                    one.peer = peer;
                    one.place = place;
                    one.port = port;
                }
            }
        }
    }

    // Every address and port of every peer.
    void try_all() {
        constexpr std::size_t at_once = 128;
        list_attempts();
        while (true) {
            std::vector<pollfd> ready;
            std::vector<Attempt*> owners;
            bool left = false;
            const auto now = Clock::now();
            for (Attempt& one : attempts_) {
                if (one.over) continue;
                left = true;
                if (owners.size() == at_once) break;
                if (!one.socket && now >= one.next) begin(one);
                if (one.socket && now - one.began > connect_limit) {
                    fail(one, fmt::format("no answer within {} s", connect_limit.count() / 1000), true);
                }
                if (!one.socket) continue;
                const bool writes = !one.handshake || !one.handshake->output().empty();
                ready.push_back({one.socket.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
                owners.push_back(&one);
            }
            if (!left) return;
            poll(ready.data(), ready.size(), 20);
            for (std::size_t i = 0; i < ready.size(); ++i) {
                if (ready[i].revents != 0) go_on(*owners[i]);
            }
        }
    }

    void begin(Attempt& one) {
        one.began = Clock::now();
        const ReachTask::Member& peer = member(one.peer);
        sockaddr_storage address{};
        const socklen_t size = tcp::socket_address(peer.places[one.place], peer.ports[one.port], address);
        one.socket = tcp::Socket(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!one.socket) return fail(one, tcp::describe_error(errno), false);
        tcp::set_buffers(one.socket.get(), options_);
        if (connect(one.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 &&
            errno != EINPROGRESS)
            fail(one, tcp::describe_error(errno), false);
    }

    void go_on(Attempt& one) {
        if (!one.handshake) {
            int error = 0;
            socklen_t length = sizeof error;
            getsockopt(one.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
            if (error != 0) return fail(one, tcp::describe_error(error), error == ETIMEDOUT);
            one.handshake = tcp::Handshake::connecting(
                task_.key, claim_of(task_, Probe::reach, self_, one.peer), tcp::random_nonce());
        }
        const std::string why = tcp::advance(one.socket.get(), *one.handshake);
        if (!why.empty()) return fail(one, fmt::format("the handshake fails: {}", why), false);
        if (!one.handshake->done()) return;
        one.reached = one.over = true;
        one.failure.clear();
        close(one);
        note_sign(one.peer);
    }

    void close(Attempt& one) {
        one.socket.reset();
        one.handshake.reset();
    }

    void fail(Attempt& one, const std::string& why, bool silent) {
        close(one);
        one.failure = why;
        one.silent = silent;
        const auto now = Clock::now();
        one.next = now + pause_between;
        // A peer whose agent has not begun refuses, too; but a host that is silent has swallowed repetitions.
        one.over = silent || now >= last_moment(one.peer);
    }

    void note_sign(int peer) {
        if (!signs_[at(peer)]) signs_[at(peer)] = Clock::now();
    }

    Clock::time_point last_moment(int peer) {
        if (probes_.has_reached_us(peer)) note_sign(peer);
        const auto alone = begin_ + first_sign + task_.late;
        return signs_[at(peer)] ? std::min(alone, *signs_[at(peer)] + last_try) : alone;
    }

    Json failures() const {
        Json rows = Json::array();
        for (const Attempt& one : attempts_) {
            if (one.reached || rows.size() == max_failures) continue;
            const char* reached = "nothing";
            for (const Attempt& other : attempts_) {
                if (!other.reached || other.peer != one.peer) continue;
                reached = other.place == one.place ? "other port" : "other address";
                if (other.place == one.place) break;
            }
            rows.push_back({{"to", one.peer},
                            {"place", write_place(member(one.peer).places[one.place])},
                            {"port", member(one.peer).ports[one.port]},
                            {"reached", reached},
                            {"why", one.failure},
                            {"silent", one.silent}});
        }
        return rows;
    }

    Json reached() const {
        std::set<int> found;
        for (const Attempt& one : attempts_) {
            if (one.reached) found.insert(one.peer);
        }
        return found;
    }

    // Round by round with another partner, as the circle method pairs them: both are free for each other.
    Json measure() {
        Json rows = Json::array();
        const auto hosts = static_cast<int>(task_.members.size());
        const int seats = hosts + hosts % 2;
        for (int round = 0; round < std::min(seats - 1, max_rounds); ++round) {
            const int partner = partner_in(round, seats);
            if (partner >= hosts || partner == self_) continue;
            if (self_ > partner) {
                // It may connect yet.
                if (has_reached(partner) || probes_.has_reached_us(partner)) probes_.serve(partner);
            } else {
                measure_with(partner, rows);
            }
        }
        return rows;
    }

    bool has_reached(int peer) const {
        return std::any_of(attempts_.begin(), attempts_.end(),
                           [&](const Attempt& one) { return one.peer == peer && one.reached; });
    }

    int partner_in(int round, int seats) const {
        const int circle = seats - 1;
        if (self_ == circle) return round % circle;
        if (self_ == round % circle) return circle;
        return ((2 * round - self_) % circle + circle) % circle;
    }

    void measure_with(int partner, Json& rows) {
        std::vector<const Attempt*> good;
        for (const Attempt& one : attempts_) {
            const bool first = good.empty() || good.back()->place != one.place;
            if (one.peer == partner && one.reached && first) good.push_back(&one);
        }
        for (const Attempt* one : good) {
            const tcp::Socket socket = connect_to(*one, Probe::measure);
            if (!socket) continue;
            const auto measured = measure_over(socket.get(), one == good.back());
            if (!measured) continue;
            rows.push_back({{"to", partner},
                            {"place", write_place(member(partner).places[one->place])},
                            {"round_trip_us", measured->round_trip_us},
                            {"sends_mbit_per_s", measured->sends_mbit_per_s},
                            {"receives_mbit_per_s", measured->receives_mbit_per_s},
                            {"clock_us", measured->clock_us},
                            {"clock_error_us", measured->clock_error_us}});
        }
    }

    // Once more to an address that was reached.
    tcp::Socket connect_to(const Attempt& good, Probe probe) {
        const ReachTask::Member& peer = member(good.peer);
        sockaddr_storage address{};
        const socklen_t size = tcp::socket_address(peer.places[good.place], peer.ports[good.port], address);
        tcp::Socket socket(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket) return {};
        tcp::set_buffers(socket.get(), options_);
        const auto end = Clock::now() + connect_limit;
        if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
            if (errno != EINPROGRESS || !wait_for(socket.get(), POLLOUT, end)) return {};
            int error = 0;
            socklen_t length = sizeof error;
            getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
            if (error != 0) return {};
        }
        tcp::Handshake handshake = tcp::Handshake::connecting(
            task_.key, claim_of(task_, probe, self_, good.peer), tcp::random_nonce());
        while (!handshake.done()) {
            if (!tcp::advance(socket.get(), handshake).empty()) return {};
            if (!handshake.done() &&
                !wait_for(socket.get(), handshake.output().empty() ? POLLIN : POLLOUT, end))
                return {};
        }
        tcp::set_alive(socket.get(), options_);
        return socket;
    }

    // Those who still try to reach this host find it, until all who were here have said that they are done.
    void tell_finished() {
        std::set<int> told;
        for (const Attempt& one : attempts_) {
            if (one.reached && told.insert(one.peer).second) connect_to(one, Probe::finished);
        }
        probes_.await_finished(told, finished_limit);
    }

    const ReachTask& task_;
    const tcp::Options& options_;
    const int self_;
    const Clock::time_point begin_;
    tcp::Address own_{};
    std::vector<std::optional<Clock::time_point>> signs_;  // of each peer, the first
    std::vector<Attempt> attempts_;
    ProbeAcceptor probes_;
};

int place_of(const ReachTask& task) {
    const auto find = [&](const auto& fits) {
        const auto first = std::find_if(task.members.begin(), task.members.end(), fits);
        return first == task.members.end() ? -1 : static_cast<int>(first - task.members.begin());
    };
    const int same = find([](const ReachTask::Member& one) { return one.host == tcp::host_number(); });
    // A container has another network namespace at each start.
    return same >= 0 ? same : find([](const ReachTask::Member& one) { return one.name == tcp::host_name(); });
}

}  // namespace

void reach(const ReachTask& task, const tcp::Options& options, const std::function<void(const Json&)>& tell) {
    const int self = place_of(task);
    if (self < 0) {
        return tell({{"wrong", fmt::format("the launcher started ranks on {}, which had none before",
                                           tcp::host_name())}});
    }
    try {
        Agent(task, options, self).run(tell);
    } catch (const Error& error) {
        tell({{"self", self}, {"wrong", error.what()}});
    }
}

}  // namespace lapwing::tool
