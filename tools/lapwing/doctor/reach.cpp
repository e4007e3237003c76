#include "lapwing/doctor/agent.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include "base/error.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/doctor/reports.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds connect_limit{2000};  // the Connector's
constexpr milliseconds start_limit{2000};    // of a peer whose agent may still start
constexpr milliseconds pause_between{100};
constexpr std::size_t max_peers = 64;  // that each host tries; all of them, in smaller jobs
constexpr std::size_t max_at_once = 512;
constexpr std::size_t max_failures = 500;

// What every agent gets before it connects.
struct Task {
    struct Member {
        std::string name;
        std::vector<std::uint16_t> ports;
        tcp::Address address{};
    };
    std::uint64_t run = 0;
    milliseconds late{0};
    std::vector<Member> members;

    explicit Task(const Json& all) : run(all.at("run")), late(all.at("late").get<int>()) {
        for (const Json& one : all.at("members")) {
            Member& member = members.emplace_back();
            member.name = one.at("name");
            member.ports = one.at("ports").get<std::vector<std::uint16_t>>();
            member.address.host = one.at("host");
            std::size_t count = 0;
            for (const Json& address : one.at("addresses"))
                if (count < tcp::Address::max_ips)
                    member.address.ips[count++] = tcp::read_ip(address).value_or(tcp::IpAddress{});
        }
    }

    // The addresses and ports of `to` that `from` tries. In large jobs each host tries some of the others, at
    // equal distances.
    std::vector<std::pair<tcp::IpAddress, std::uint16_t>> attempts(std::size_t from, std::size_t to) const {
        const std::size_t others = members.size() - 1;
        const std::size_t peers = std::min(max_peers, others);
        const std::size_t distance = (to + members.size() - from) % members.size();
        bool tried = false;
        for (std::size_t i = 1; i <= peers; ++i) tried = tried || i * others / peers == distance;
        std::vector<std::pair<tcp::IpAddress, std::uint16_t>> found;
        if (!tried) return found;
        for (const tcp::IpAddress& ip : tcp::routes(members[from].address, members[to].address)) {
            for (const std::uint16_t port : members[to].ports) found.emplace_back(ip, port);
        }
        return found;
    }

    // The member that this host is. Throws Error (system).
    std::size_t self() const {
        const auto find = [&](const auto& fits) {
            return static_cast<std::size_t>(std::find_if(members.begin(), members.end(), fits) -
                                            members.begin());
        };
        std::size_t own = find([](const Member& one) { return one.address.host == tcp::host_number(); });
        // A container has another network namespace at each start.
        if (own == members.size()) own = find([](const Member& one) { return one.name == tcp::host_name(); });
        if (own == members.size())
            throw Error(
                ErrorCode::system,
                fmt::format("the launcher started ranks on {}, which had none before", tcp::host_name()));
        return own;
    }
};

// The first and only bytes of a connection. The accepting agent returns them: no other program answers so.
struct Greeting {
    std::uint64_t run = 0;
    std::uint32_t from = 0;
    std::uint32_t number = 0;  // of the attempt from this member

    bool operator==(const Greeting&) const = default;
    bool send_on(int socket) const { return send(socket, this, sizeof *this, MSG_NOSIGNAL) == sizeof *this; }
    bool receive_on(int socket) { return recv(socket, this, sizeof *this, 0) == sizeof *this; }
};

// One address and port of one peer.
struct Attempt {
    std::size_t to = 0;
    std::uint32_t number = 0;
    tcp::IpAddress address{};
    std::uint16_t port = 0;
    tcp::Socket socket;
    bool connected = false;
    Clock::time_point began{};
    Clock::time_point next{};  // when it may be tried (again)
    bool reached = false;
    bool over = false;
    std::string failure;  // of the last try
};

class Agent {
  public:
    Agent(const Task& task, const tcp::Options& options, std::size_t self) : task_(task), self_(self) {
        const std::vector<tcp::IpAddress> own = tcp::choose(options, tcp::interfaces());
        // The ports were free at the survey; meanwhile another program may have one of them.
        std::string why;
        for (std::uint16_t port : task.members[self].ports) {
            try {
                for (tcp::Socket& listener : tcp::listen_on(own, options, port))
                    listeners_.push_back(std::move(listener));
            } catch (const Error& error) {
                why = error.what();
                taken_.insert(port);
            }
        }
        if (listeners_.empty()) throw Error(ErrorCode::system, why);
        for (std::size_t peer = 0; peer < task.members.size(); ++peer) {
            std::uint32_t number = 0;
            for (const auto& [address, port] : task.attempts(peer, self)) {
                if (!taken_.contains(port)) awaited_.emplace(static_cast<std::uint32_t>(peer), number);
                ++number;
            }
            number = 0;
            for (const auto& [address, port] : task.attempts(self, peer)) {
                Attempt& one = attempts_.emplace_back();
                one.to = peer;
                one.number = number++;
                one.address = address;
                one.port = port;
            }
        }
    }

    void run(const std::function<void(const Json&)>& report) {
        while (!all_over()) step();
        std::set<std::size_t> tried;
        std::set<std::size_t> reached;
        for (const Attempt& one : attempts_) {
            tried.insert(one.to);
            if (one.reached) reached.insert(one.to);
        }
        report({{"self", self_},
                {"tried", tried},
                {"reached", reached},
                {"taken", taken_},
                {"failures", failures()}});
        // The doctor ends the launch when all agents have reported.
        while (!awaited_.empty()) step();
    }

  private:
    bool all_over() const {
        return std::all_of(attempts_.begin(), attempts_.end(), [](const Attempt& one) { return one.over; });
    }

    // Advances all connections that are ready, and waits a moment if none is.
    void step() {
        std::vector<pollfd> ready;
        for (const tcp::Socket& listener : listeners_) ready.push_back({listener.get(), POLLIN, 0});
        for (const tcp::Socket& guest : guests_) ready.push_back({guest.get(), POLLIN, 0});
        std::vector<Attempt*> trying;
        for (Attempt& one : attempts_) {
            if (one.over || trying.size() == max_at_once) continue;
            const auto now = Clock::now();
            if (!one.socket && now >= one.next) begin(one);
            if (one.socket && now - one.began > connect_limit) {
                fail(one, fmt::format("no answer within {} s", connect_limit.count() / 1000));
                one.over = true;
            }
            if (!one.socket) continue;
            ready.push_back({one.socket.get(), static_cast<short>(one.connected ? POLLIN : POLLOUT), 0});
            trying.push_back(&one);
        }
        poll(ready.data(), ready.size(), 20);
        auto next = ready.begin();
        std::vector<tcp::Socket> accepted;
        for (const tcp::Socket& listener : listeners_) {
            if ((next++)->revents == 0) continue;
            accepted.emplace_back(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        }
        std::erase_if(guests_, [&](const tcp::Socket& guest) {
            const bool done = (next++)->revents != 0;
            if (done) greet(guest.get());
            return done;
        });
        for (Attempt* one : trying) {
            if ((next++)->revents != 0) advance(*one);
        }
        for (tcp::Socket& guest : accepted) {
            if (guest) guests_.push_back(std::move(guest));
        }
    }

    void greet(int guest) {
        Greeting greeting;
        if (greeting.receive_on(guest) && greeting.run == task_.run && greeting.send_on(guest))
            awaited_.erase({greeting.from, greeting.number});
    }

    void begin(Attempt& one) {
        one.began = Clock::now();
        one.connected = false;
        sockaddr_storage address{};
        const socklen_t size = tcp::socket_address(one.address, one.port, address);
        one.socket = tcp::make_socket(address.ss_family);
        if (!one.socket ||
            (connect(one.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 &&
             errno != EINPROGRESS))
            fail(one, tcp::describe_error(errno));
    }

    void advance(Attempt& one) {
        const Greeting greeting{task_.run, static_cast<std::uint32_t>(self_), one.number};
        if (!one.connected) {
            int error = 0;
            socklen_t length = sizeof error;
            getsockopt(one.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
            if (error != 0) return fail(one, tcp::describe_error(error));
            one.connected = greeting.send_on(one.socket.get());
            if (!one.connected) fail(one, tcp::describe_error(errno));
            return;
        }
        Greeting answer;
        if (!answer.receive_on(one.socket.get()) || answer != greeting)
            return fail(one, "another program answers");
        one.socket.reset();
        one.reached = one.over = true;
    }

    // A host refuses connections also as long as its agent has not begun.
    void fail(Attempt& one, const std::string& why) {
        one.socket.reset();
        one.failure = why;
        const auto now = Clock::now();
        one.next = now + pause_between;
        one.over = now >= begin_ + start_limit + task_.late;
    }

    Json failures() const {
        Json rows = Json::array();
        for (const Attempt& one : attempts_) {
            if (one.reached || rows.size() == max_failures) continue;
            const char* elsewhere = "";
            for (const Attempt& other : attempts_) {
                if (!other.reached || other.to != one.to) continue;
                elsewhere = tcp::same_address(other.address, one.address) ? "port" : "address";
                if (elsewhere[0] == 'p') break;
            }
            rows.push_back({{"to", one.to},
                            {"address", fmt::format("{}/{}", tcp::text(one.address), one.address.prefix)},
                            {"port", one.port},
                            {"why", one.failure},
                            {"elsewhere", elsewhere}});
        }
        return rows;
    }

    const Task& task_;
    const std::size_t self_;
    const Clock::time_point begin_ = Clock::now();
    std::vector<tcp::Socket> listeners_;
    std::set<std::uint16_t> taken_;                              // ports of this host, by other programs
    std::vector<tcp::Socket> guests_;                            // accepted, and have not sent their greeting
    std::set<std::pair<std::uint32_t, std::uint32_t>> awaited_;  // attempts of others, by member and number
    std::vector<Attempt> attempts_;
};

std::pair<int, int> system_range() {
    std::pair<int, int> range{1024, 65535};
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> range.first >> range.second;
    return range;
}

}  // namespace

int reach_hosts(const std::string& run, int seconds) {
    alarm(static_cast<unsigned>(seconds));
    const tcp::Socket first = be_first_of_host(run);
    if (!first) return success;
    const auto tell = [](Json report) {
        report["kind"] = "reach";
        report["host"] = tcp::host_number();
        report["name"] = tcp::host_name();
        write_report(report);
    };
    Json self;  // unknown if the task is
    try {
        const char* const told = std::getenv(reach_variable);
        if (told == nullptr)
            throw Error(ErrorCode::system,
                        fmt::format("the launcher did not pass {} to this rank", reach_variable));
        const Task task(Json::parse(told));
        self = task.self();
        Agent(task, tcp::read_options(read_settings(environ)), self).run(tell);
    } catch (const std::exception& error) {
        Json report = {{"wrong", error.what()}};
        if (!self.is_null()) report["self"] = self;
        tell(report);
    }
    return success;
}

std::vector<std::uint16_t> free_ports(const tcp::Options& options) {
    constexpr int wanted = 3;
    constexpr int tries = 16;
    std::random_device random;
    const auto [first, last] = system_range();
    const int third = (last - first) / wanted;
    const std::vector<tcp::IpAddress> addresses = tcp::choose(options, tcp::interfaces());
    std::vector<std::uint16_t> ports;
    for (int i = 0; i < wanted; ++i) {
        const int begin = first + third * i;
        for (int attempt = 0; attempt < tries; ++attempt) {
            auto port = static_cast<std::uint16_t>(
                std::uniform_int_distribution<int>(begin, std::max(begin, begin + third - 1))(random));
            try {
                tcp::listen_on(addresses, options, port);
            } catch (const Error&) {
                continue;  // in use
            }
            ports.push_back(port);
            break;
        }
    }
    return ports;
}

std::string port_range() {
    const auto [first, last] = system_range();
    return fmt::format("{}-{}", first, last);
}

}  // namespace lapwing::tool
