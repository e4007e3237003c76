// Connections between ranks that are threads of one process, as socket pairs: runs the kernel engine without
// a network.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "links/connections.hpp"

namespace lapwing {

class SocketPairs final : public Connections {
  public:
    SocketPairs(int ranks, int lanes, std::shared_ptr<EventLoop> event_loop)
        : ranks_(ranks),
          lanes_(lanes),
          descriptors_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(lanes), -1),
          event_loop_(std::move(event_loop)) {}
    ~SocketPairs() override {
        for (const int descriptor : descriptors_)
            if (descriptor >= 0) ::close(descriptor);
    }

    int lanes() const override { return lanes_; }
    void want(int, int) override {}
    int descriptor(int peer, int lane) override { return at(peer, lane); }
    void on_change(std::function<void()>) override {}
    std::string describe(int peer) const override { return fmt::format("rank {}", peer); }
    void give_up(const std::string&) override {
        for (const int descriptor : descriptors_)
            if (descriptor >= 0) ::shutdown(descriptor, SHUT_RDWR);
    }
    EventLoop& event_loop() override { return *event_loop_; }

    int& at(int peer, int lane) {
        return descriptors_[static_cast<std::size_t>(lane) * static_cast<std::size_t>(ranks_) +
                            static_cast<std::size_t>(peer)];
    }

  private:
    int ranks_;
    int lanes_;
    std::vector<int> descriptors_;
    std::shared_ptr<EventLoop> event_loop_;
};

// Connections for each of `ranks` ranks, which share one event loop. `buffer_bytes`: size of the sockets'
// buffers, which the system may round up; 0: the default.
inline std::vector<std::unique_ptr<Connections>> socket_pairs(int ranks, int lanes, int buffer_bytes = 0) {
    const auto event_loop = std::make_shared<EventLoop>();
    std::vector<std::unique_ptr<Connections>> all;
    for (int rank = 0; rank < ranks; ++rank)
        all.push_back(std::make_unique<SocketPairs>(ranks, lanes, event_loop));
    const auto of = [&](int rank) -> SocketPairs& {
        return static_cast<SocketPairs&>(*all[static_cast<std::size_t>(rank)]);
    };
    for (int first = 0; first < ranks; ++first) {
        for (int second = first + 1; second < ranks; ++second) {
            for (int lane = 0; lane < lanes; ++lane) {
                int pair[2];
                if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
                    throw_system("socketpair");
                of(first).at(second, lane) = pair[0];
                of(second).at(first, lane) = pair[1];
                for (const int end : pair)
                    if (buffer_bytes > 0)
                        ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
            }
        }
    }
    return all;
}

}  // namespace lapwing
