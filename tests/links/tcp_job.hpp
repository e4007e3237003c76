// Jobs of endpoints in this process, over loopback, for the tests.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include "links/tcp/endpoint.hpp"
#include "support/unit.hpp"

namespace lapwing::tcp {

inline bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}
inline constexpr std::chrono::milliseconds long_enough{30'000};

// The lines that an endpoint says; any thread.
class Lines_said {
  public:
    Endpoint::Log log() {
        return [this](const std::string& line) {
            const std::lock_guard lock(mutex_);
            table_.push_back(line);
        };
    }
    std::vector<std::string> table() const {
        const std::lock_guard lock(mutex_);
        return table_;
    }
    bool has(const std::string& part) const { return count(part) > 0; }
    int count(const std::string& part) const {
        int result = 0;
        for (const std::string& line : table()) result += line.find(part) != std::string::npos ? 1 : 0;
        return result;
    }
    std::string all() const {
        std::string result;
        for (const std::string& line : table()) result += line + "\n";
        return result;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> table_;
};

inline Options loopback(std::chrono::seconds patience = std::chrono::seconds(5)) {
    Options options;
    options.interfaces = "127.0.0.1";
    options.patience = patience;
    return options;
}

// Members are admitted at once, unless the test does it.
class LocalJob {
  public:
    explicit LocalJob(int members, const Options& options = loopback(), bool admitted = true)
        : said(static_cast<std::size_t>(members)) {
        for (int member = 0; member < members; ++member)
            endpoints.push_back(std::make_unique<Endpoint>(options, said[member].log()));
        for (const auto& endpoint : endpoints) addresses.push_back(endpoint->address());
        for (int member = 0; admitted && member < members; ++member)
            endpoints[member]->admit(key, addresses, member);
    }
    // All members, rank = member.
    std::unique_ptr<Connections> group(int rank, std::uint64_t number = 7, int lanes = 1) {
        std::vector<int> members(endpoints.size());
        std::iota(members.begin(), members.end(), 0);
        return endpoints[rank]->group(number, members, rank, lanes);
    }

    const Key key = random_key();
    std::vector<Lines_said> said;
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<Address> addresses;
};

// A job of two members, and a group of both at each.
struct PairJob : LocalJob {
    explicit PairJob(const Options& options = loopback(), int lanes = 1)
        : LocalJob(2, options), zero(group(0, 7, lanes)), one(group(1, 7, lanes)) {}

    std::unique_ptr<Connections> zero;
    std::unique_ptr<Connections> one;
};

// The descriptor once the connection stands; throws what descriptor() throws; -1: never within the limit.
inline int made(Connections& connections, int peer, int lane = 0) {
    connections.want(peer, lane);
    int descriptor = -1;
    within(long_enough, [&] { return (descriptor = connections.descriptor(peer, lane)) >= 0; });
    return descriptor;
}

inline bool give(int descriptor, const std::string& text) {
    return send(descriptor, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

inline std::string get(int descriptor, std::size_t size) {
    if (descriptor < 0) return "(no connection)";
    std::string text;
    while (text.size() < size) {
        pollfd ready{descriptor, POLLIN, 0};
        if (poll(&ready, 1, static_cast<int>(long_enough.count())) <= 0) return text + " (no more)";
        char bytes[256];
        const ssize_t count = recv(descriptor, bytes, std::min(sizeof bytes, size - text.size()), 0);
        if (count <= 0) return text + " (closed)";
        text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
}

}  // namespace lapwing::tcp
