#include "engines/wait_strategy.hpp"

#include <poll.h>

#include <algorithm>

namespace lapwing {

WaitStrategy::Step WaitStrategy::after_look(const Situation& situation) {
    ++looks_;
    const std::uint64_t per_clock = situation.looks_in_kernel  ? looks_per_clock_in_kernel
                                    : situation.oversubscribed ? looks_per_clock_oversubscribed
                                                               : looks_per_clock;
    const bool due = looks_ % per_clock == 0;
    const bool yields =
        situation.looks_in_kernel ? due : situation.oversubscribed || looks_ > looks_before_yield;
    if (situation.may_sleep && due) {
        const std::uint64_t now = trace::now();
        if (began_ == 0) began_ = now;
        if (now - began_ > static_cast<std::uint64_t>(spin_time.count())) return Step::sleep;
    }
    return yields ? Step::yield : Step::look;
}

WaitStrategy::nanoseconds WaitStrategy::next_sleep(nanoseconds longest) {
    return last_sleep_ = std::clamp(2 * last_sleep_, shortest_sleep, std::max(shortest_sleep, longest));
}

void WaitStrategy::record(std::uint64_t began, trace::WakeUp woken_by) {
    trace::record({.began = began,
                   .ended = trace::now(),
                   .bytes = static_cast<std::uint64_t>(last_sleep_.count()),
                   .index = static_cast<std::uint32_t>(looks_),
                   .what = trace::What::sleep,
                   .kind = static_cast<std::uint8_t>(woken_by)});
}

trace::WakeUp sleep_at(const std::vector<int>& descriptors, std::chrono::nanoseconds limit) {
    std::vector<pollfd> changed;
    for (const int descriptor : descriptors) changed.push_back({descriptor, POLLIN, 0});
    const timespec time{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
    return ::ppoll(changed.data(), changed.size(), &time, nullptr) > 0 ? trace::WakeUp::descriptor
                                                                       : trace::WakeUp::limit;
}

}  // namespace lapwing
