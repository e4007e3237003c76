#include "lapwing/doctor/measure.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

constexpr std::chrono::seconds measuring_limit{3};
constexpr int round_trips = 100;
constexpr std::uint64_t first_bytes = 128 << 10;
constexpr std::uint64_t min_bytes = 256 << 10;
constexpr std::uint64_t max_bytes = 64 << 20;
constexpr double seconds_of_bytes = 0.05;

enum class Order : std::uint64_t {
    ping,     // the answer has the time of day
    receive,  // so many bytes; the answer has the nanoseconds from the first to the last
    send,     // so many bytes
    next,     // another connection follows
    end,
};

struct Message {
    Order order = Order::ping;
    std::uint64_t value = 0;
};

class Exchange {
  public:
    Exchange(int socket, Clock::time_point end) : socket_(socket), end_(end), bytes_(std::size_t{1} << 18) {}

    bool write(const void* from, std::size_t bytes) {
        const char* next = static_cast<const char*>(from);
        while (bytes > 0) {
            const ssize_t count = ::send(socket_, next, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count > 0) {
                next += count;
                bytes -= static_cast<std::size_t>(count);
            } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(socket_, POLLOUT, end_)) {
                return false;
            }
        }
        return true;
    }
    bool read(void* to, std::size_t bytes) {
        char* next = static_cast<char*>(to);
        while (bytes > 0) {
            const ssize_t count = ::recv(socket_, next, bytes, MSG_DONTWAIT);
            if (count == 0) return false;
            if (count > 0) {
                next += count;
                bytes -= static_cast<std::size_t>(count);
            } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(socket_, POLLIN, end_)) {
                return false;
            }
        }
        return true;
    }
    bool say(Order order, std::uint64_t value) {
        const Message message{order, value};
        return write(&message, sizeof message);
    }
    bool hear(Message& message) { return read(&message, sizeof message); }

    bool send_bulk(std::uint64_t bytes) {
        for (; bytes > 0;) {
            const std::size_t part = std::min<std::uint64_t>(bytes, bytes_.size());
            if (!write(bytes_.data(), part)) return false;
            bytes -= part;
        }
        return true;
    }
    // How long it took from the first byte on.
    bool receive_bulk(std::uint64_t bytes, duration<double>& time) {
        if (!wait_for(socket_, POLLIN, end_)) return false;
        const auto begin = Clock::now();
        for (; bytes > 0;) {
            const std::size_t part = std::min<std::uint64_t>(bytes, bytes_.size());
            if (!read(bytes_.data(), part)) return false;
            bytes -= part;
        }
        time = Clock::now() - begin;
        return true;
    }

  private:
    int socket_;
    Clock::time_point end_;
    std::vector<char> bytes_;
};

std::uint64_t time_of_day_ns() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

bool measure_round_trips(Exchange& exchange, Measured& measured) {
    std::vector<double> times;
    double shortest = 1e9;
    for (int i = 0; i < round_trips; ++i) {
        const std::uint64_t before = time_of_day_ns();
        const auto begin = Clock::now();
        Message answer;
        if (!exchange.say(Order::ping, 0) || !exchange.hear(answer)) return false;
        const double time = duration<double, std::micro>(Clock::now() - begin).count();
        times.push_back(time);
        if (time >= shortest) continue;
        shortest = time;
        measured.clock_us =
            static_cast<double>(static_cast<std::int64_t>(answer.value - before)) * 1e-3 - time / 2;
        measured.clock_error_us = time / 2;
    }
    std::nth_element(times.begin(), times.begin() + round_trips / 2, times.end());
    measured.round_trip_us = times[round_trips / 2];
    return true;
}

bool send_timed(Exchange& exchange, std::uint64_t bytes, duration<double>& time) {
    Message answer;
    if (!exchange.say(Order::receive, bytes) || !exchange.send_bulk(bytes) || !exchange.hear(answer))
        return false;
    time = std::chrono::nanoseconds(answer.value);
    return true;
}

bool receive_timed(Exchange& exchange, std::uint64_t bytes, duration<double>& time) {
    return exchange.say(Order::send, bytes) && exchange.receive_bulk(bytes, time);
}

// In both directions the same: first a little, to know how much there is time for.
template <typename Transfer>
bool measure_rate(const Transfer& transfer, double& mbit_per_s) {
    duration<double> time{0};
    if (!transfer(first_bytes, time)) return false;
    const double rate = static_cast<double>(first_bytes) / std::max(time.count(), 1e-6);
    const auto bytes = static_cast<std::uint64_t>(
        std::clamp(rate * seconds_of_bytes, static_cast<double>(min_bytes), static_cast<double>(max_bytes)));
    if (!transfer(bytes, time)) return false;
    mbit_per_s = static_cast<double>(bytes) * 8e-6 / std::max(time.count(), 1e-9);
    return true;
}

}  // namespace

bool wait_for(int descriptor, short events, Clock::time_point end) {
    while (true) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        pollfd ready{descriptor, events, 0};
        const int found = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
        if (found >= 0 || errno != EINTR) return found > 0;
    }
}

std::optional<Measured> measure_over(int socket, bool last) {
    Exchange exchange(socket, Clock::now() + measuring_limit);
    Measured measured;
    const auto sends = [&](std::uint64_t bytes, duration<double>& time) {
        return send_timed(exchange, bytes, time);
    };
    const auto receives = [&](std::uint64_t bytes, duration<double>& time) {
        return receive_timed(exchange, bytes, time);
    };
    if (!measure_round_trips(exchange, measured) || !measure_rate(sends, measured.sends_mbit_per_s) ||
        !measure_rate(receives, measured.receives_mbit_per_s))
        return std::nullopt;
    exchange.say(last ? Order::end : Order::next, 0);
    return measured;
}

bool serve_measurement(int socket, Clock::time_point end) {
    Exchange exchange(socket, end);
    Message message;
    while (exchange.hear(message)) {
        duration<double> time{0};
        bool good = true;
        switch (message.order) {
            case Order::ping:
                good = exchange.say(Order::ping, time_of_day_ns());
                break;
            case Order::receive:
                good = exchange.receive_bulk(message.value, time) &&
                       exchange.say(Order::receive, static_cast<std::uint64_t>(time.count() * 1e9));
                break;
            case Order::send:
                good = exchange.send_bulk(message.value);
                break;
            case Order::next:
                return false;
            case Order::end:
                return true;
        }
        if (!good) return true;
    }
    return true;
}

}  // namespace lapwing::tool
