#include "links/lifeline.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lapwing {
namespace {

// Sent first to rank 0, which thereby keeps the connection of a rank that ends before rank 0 has made the
// group.
constexpr char greeting = 'h';
// A farewell: one of these letters. The reason follows the second, up to a zero.
constexpr char leaving = 'l';
constexpr char failing = 'f';
constexpr std::size_t max_reason = 1000;  // bytes
constexpr std::size_t max_received = 2048;

}  // namespace

struct Lifeline::State {
    struct Line {
        int peer;
        int descriptor;
        std::string received;
        bool watched = true;
    };

    Connections& connections;
    const int rank;
    const Lost lost;
    std::mutex mutex;
    std::vector<Line> lines;  // does not change after the constructor
    bool over = false;        // `lost` was called, or this rank has left

    State(Connections& all, int own, Lost when_lost)
        : connections(all), rank(own), lost(std::move(when_lost)) {}

    // Always fits the socket, which nothing else is sent on.
    static void send_to(const Line& line, const std::string& text) {
        static_cast<void>(::send(line.descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }

    // Returns false if it was called before.
    bool end(const std::string& farewell) {
        const std::lock_guard lock(mutex);
        if (std::exchange(over, true)) return false;
        for (const Line& line : lines) send_to(line, farewell);
        return true;
    }

    void fail(const std::string& why) {
        // Rank 0 forwards it to all.
        if (end(failing + why.substr(0, max_reason) + '\0')) lost(why);
    }

    // On the event thread.
    void receive(Line& line) {
        std::string why;
        {
            const std::lock_guard lock(mutex);
            if (over || !line.watched) return;
            char bytes[256];
            ssize_t count = 0;
            while ((count = ::recv(line.descriptor, bytes, sizeof bytes, MSG_DONTWAIT)) > 0 &&
                   line.received.size() <= max_received) {
                line.received.append(bytes, static_cast<std::size_t>(count));
            }
            const int error = errno;
            if (line.received.starts_with(greeting)) line.received.erase(0, 1);
            const bool open = count < 0 && (error == EAGAIN || error == EINTR);
            const bool leaves = line.received.starts_with(leaving);
            const std::size_t end = line.received.find('\0');
            if (!leaves && line.received.starts_with(failing) && end != std::string::npos) {
                why = line.received.substr(1, end - 1);
            } else if (!leaves && !open) {
                why = why_broken(connections, line.peer, count == 0 ? ECONNRESET : error);
            }
            if (!leaves && why.empty()) return;
            line.watched = false;
        }
        connections.event_loop().forget(line.descriptor);
        if (!why.empty()) fail(why);
    }
};

Lifeline::Lifeline(Connections& connections, int rank, int ranks, std::chrono::milliseconds limit, Lost lost)
    : state_(std::make_shared<State>(connections, rank, std::move(lost))) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    const int first = rank == 0 ? 1 : 0;
    const int last = rank == 0 ? ranks - 1 : 0;
    for (int peer = first; peer <= last; ++peer) connections.want(peer, 0);
    for (int peer = first; peer <= last; ++peer) {
        int descriptor = -1;
        while ((descriptor = connections.descriptor(peer, 0)) < 0) {
            if (std::chrono::steady_clock::now() > deadline) {
                throw Error(ErrorCode::link, "{} has not connected within {} s", connections.describe(peer),
                            std::chrono::duration_cast<std::chrono::seconds>(limit).count());
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        state_->lines.push_back({peer, descriptor, {}});
        if (rank != 0) State::send_to(state_->lines.back(), std::string(1, greeting));
    }
    for (State::Line& line : state_->lines) {
        connections.event_loop().watch(line.descriptor, EPOLLIN | EPOLLRDHUP,
                                       [state = state_, &line](unsigned) { state->receive(line); });
    }
}

Lifeline::~Lifeline() {
    state_->end(std::string(1, leaving));
    for (const State::Line& line : state_->lines) state_->connections.event_loop().forget(line.descriptor);
}

void Lifeline::fail(const std::string& why) {
    state_->fail(why);
}

}  // namespace lapwing
