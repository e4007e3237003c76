#include "links/lifeline.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lapwing {
namespace {

// Sent first to rank 0, which thereby keeps the connection of a rank that ends before rank 0 has made the
// group.
constexpr char greets = 'h';
// A farewell: one of these letters. The reason follows the second, up to a zero.
constexpr char leaves = 'l';
constexpr char gives_up = 'g';
constexpr std::size_t longest_reason = 1000;
// Before the farewell, once: the texts of a rank for the agreement, and rank 0's answer. Each text follows
// the letter, up to a zero.
constexpr char claims = 'c';
constexpr char answers = 'a';
constexpr std::size_t longest_text = 400;
// The most that one rank sends.
constexpr std::size_t max_heard = 4096;

using Texts = std::vector<std::string>;

// Removes the first message from what was received, if it is complete.
std::optional<Texts> take_texts(std::string& heard, std::size_t count) {
    Texts texts;
    std::size_t begin = 1;
    for (; texts.size() < count; begin += texts.back().size() + 1) {
        const std::size_t end = heard.find('\0', begin);
        if (end == std::string::npos) return std::nullopt;
        texts.push_back(heard.substr(begin, end - begin));
    }
    heard.erase(0, begin);
    return texts;
}

std::string message_of(char letter, const Texts& texts) {
    std::string message(1, letter);
    for (const std::string& text : texts) message += text + '\0';
    return message;
}

}  // namespace

struct Lifeline::State {
    struct Line {
        int peer;
        int descriptor;
        std::string heard;
        bool watched = true;
    };

    Connections& connections;
    const int rank;
    const Lost lost;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Line> lines;  // does not change after the constructor
    bool over = false;        // `lost` was called, or this rank has left
    std::string why_over;

    std::size_t topics = 0;        // texts of the agreement; 0: this rank has not called agree()
    std::map<int, Texts> claimed;  // of rank 0: by rank
    std::optional<Texts> agreement;

    State(Connections& all, int own, Lost told) : connections(all), rank(own), lost(std::move(told)) {}

    // Always fits the socket, which nothing else is sent on.
    static void say(const Line& line, const std::string& text) {
        static_cast<void>(::send(line.descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }

    // Returns false if it was called before.
    bool end(const std::string& farewell, const std::string& why) {
        const std::lock_guard lock(mutex);
        if (std::exchange(over, true)) return false;
        why_over = why;
        for (const Line& line : lines) say(line, farewell);
        changed.notify_all();
        return true;
    }

    void give_up(const std::string& why) {
        // Rank 0 forwards it to all.
        std::string farewell = gives_up + why.substr(0, longest_reason);
        farewell += '\0';
        if (end(farewell, why)) lost(why);
    }

    // With the lock held. Handles messages of the agreement once this rank has called agree().
    void hear_agreement(Line& line) {
        if (topics == 0) return;
        if (rank != 0) {
            if (!agreement && line.heard.starts_with(answers)) agreement = take_texts(line.heard, topics);
        } else if (line.heard.starts_with(claims)) {
            if (auto texts = take_texts(line.heard, topics)) claimed.emplace(line.peer, std::move(*texts));
        }
        if (rank == 0 && !agreement && claimed.size() == lines.size() + 1) {
            agreement.emplace(topics);
            for (const auto& [claimant, texts] : claimed) {
                for (std::size_t i = 0; i < topics; ++i) {
                    if ((*agreement)[i].empty()) (*agreement)[i] = texts[i];
                }
            }
            for (const Line& other : lines) say(other, message_of(answers, *agreement));
        }
        if (agreement) changed.notify_all();
    }

    Texts agree(Texts mine, std::chrono::milliseconds limit) {
        std::unique_lock lock(mutex);
        for (std::string& text : mine) text.resize(std::min(text.size(), longest_text));
        topics = mine.size();
        if (rank == 0) {
            claimed.emplace(0, std::move(mine));
        } else {
            say(lines.front(), message_of(claims, mine));
        }
        // Other ranks may have called it before.
        for (Line& line : lines) hear_agreement(line);
        if (!changed.wait_for(lock, limit, [this] { return over || agreement; })) {
            std::string late;
            for (const Line& line : lines) {
                if (rank != 0 || !claimed.contains(line.peer)) late = connections.describe(line.peer);
            }
            lock.unlock();
            give_up(fmt::format("{} has not answered within {} s", late,
                                std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
            lock.lock();
        }
        if (!agreement) throw Error(ErrorCode::link, why_over);
        return *agreement;
    }

    // On the event thread.
    void listen(Line& line) {
        std::string why;
        {
            const std::lock_guard lock(mutex);
            if (over || !line.watched) return;
            char bytes[256];
            ssize_t count = 0;
            while ((count = ::recv(line.descriptor, bytes, sizeof bytes, MSG_DONTWAIT)) > 0 &&
                   line.heard.size() <= max_heard) {
                line.heard.append(bytes, static_cast<std::size_t>(count));
            }
            const int error = errno;
            if (line.heard.starts_with(greets)) line.heard.erase(0, 1);
            hear_agreement(line);
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
        connections.event_loop().forget(line.descriptor);
        if (!why.empty()) give_up(why);
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
                throw Error(ErrorCode::link,
                            fmt::format("{} has not connected within {} s", connections.describe(peer),
                                        std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        state_->lines.push_back({peer, descriptor, {}});
        if (rank != 0) State::say(state_->lines.back(), std::string(1, greets));
    }
    for (State::Line& line : state_->lines) {
        connections.event_loop().watch(line.descriptor, EPOLLIN | EPOLLRDHUP,
                                       [state = state_, &line](unsigned) { state->listen(line); });
    }
}

Lifeline::~Lifeline() {
    state_->end(std::string(1, leaves), "");
    for (const State::Line& line : state_->lines) state_->connections.event_loop().forget(line.descriptor);
}

std::vector<std::string> Lifeline::agree(std::vector<std::string> mine, std::chrono::milliseconds limit) {
    return state_->agree(std::move(mine), limit);
}

void Lifeline::give_up(const std::string& why) {
    state_->give_up(why);
}

}  // namespace lapwing
