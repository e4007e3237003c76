#include "links/lifeline.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lapwing {
namespace {

// What each rank says to rank 0 first, so that its connection is not forgotten should it end before rank 0
// knows the group.
constexpr char greets = 'h';
// A farewell: one of these letters, and behind the second the reason, up to a zero.
constexpr char leaves = 'l';
constexpr char gives_up = 'g';
constexpr std::size_t longest_reason = 1000;

}  // namespace

struct Lifeline::State {
    struct Line {
        int peer;
        int descriptor;
        std::string heard;
        bool watched = true;
    };

    Connections& connections;
    const Lost lost;
    std::mutex mutex;
    std::vector<Line> lines;  // does not change once all stand
    bool over = false;        // lost has been told, or this rank has left

    State(Connections& all, Lost told) : connections(all), lost(std::move(told)) {}

    // All of it fits a socket that nothing else is sent on.
    static void say(const Line& line, const std::string& text) {
        static_cast<void>(::send(line.descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }

    // Whether it is the first time.
    bool end(const std::string& farewell) {
        const std::lock_guard lock(mutex);
        if (std::exchange(over, true)) return false;
        for (const Line& line : lines) say(line, farewell);
        return true;
    }

    void give_up(const std::string& why) {
        // Rank 0 passes it on to all.
        std::string farewell = gives_up + why.substr(0, longest_reason);
        farewell += '\0';
        if (end(farewell)) lost(why);
    }

    // On the attendant's thread.
    void listen(Line& line) {
        std::string why;
        {
            const std::lock_guard lock(mutex);
            if (over || !line.watched) return;
            char bytes[256];
            ssize_t count = 0;
            while ((count = ::recv(line.descriptor, bytes, sizeof bytes, MSG_DONTWAIT)) > 0 &&
                   line.heard.size() <= longest_reason) {
                line.heard.append(bytes, static_cast<std::size_t>(count));
            }
            const int error = errno;
            if (line.heard.starts_with(greets)) line.heard.erase(0, 1);
            const bool open = count < 0 && (error == EAGAIN || error == EINTR);
            const bool leaving = line.heard.starts_with(leaves);
            const std::size_t end = line.heard.find('\0');
            if (!leaving && line.heard.starts_with(gives_up) && end != std::string::npos) {
                why = line.heard.substr(1, end - 1);
            } else if (!leaving && !open) {
                why = why_broken(connections, line.peer, count == 0 ? ECONNRESET : error);
            }
            if (!leaving && why.empty()) return;
            line.watched = false;
        }
        connections.attendant().forget(line.descriptor);
        if (!why.empty()) give_up(why);
    }
};

Lifeline::Lifeline(Connections& connections, int rank, int ranks, std::chrono::milliseconds limit, Lost lost)
    : state_(std::make_shared<State>(connections, std::move(lost))) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    const int first = rank == 0 ? 1 : 0;
    const int last = rank == 0 ? ranks - 1 : 0;
    for (int peer = first; peer <= last; ++peer) connections.want(peer, 0);
    for (int peer = first; peer <= last; ++peer) {
        int descriptor = -1;
        while ((descriptor = connections.descriptor(peer, 0)) < 0) {
            if (std::chrono::steady_clock::now() > deadline) {
                throw Error(ErrorCode::link,
                            fmt::format("{} has not connected within {} s", connections.told(peer),
                                        std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        state_->lines.push_back({peer, descriptor, {}});
        if (rank != 0) State::say(state_->lines.back(), std::string(1, greets));
    }
    for (State::Line& line : state_->lines) {
        connections.attendant().watch(line.descriptor, EPOLLIN | EPOLLRDHUP,
                                      [state = state_, &line](unsigned) { state->listen(line); });
    }
}

Lifeline::~Lifeline() {
    state_->end(std::string(1, leaves));
    for (const State::Line& line : state_->lines) state_->connections.attendant().forget(line.descriptor);
}

void Lifeline::give_up(const std::string& why) {
    state_->give_up(why);
}

}  // namespace lapwing
