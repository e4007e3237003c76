#include "engines/wait_strategy.hpp"

#include <poll.h>

#include <vector>

namespace lapwing {

WaitStrategy::Step WaitStrategy::after_poll(const Situation& situation) {
    ++polls_;
    const std::uint64_t per_clock = situation.polls_in_kernel  ? polls_per_clock_in_kernel
                                    : situation.oversubscribed ? polls_per_clock_oversubscribed
                                                               : polls_per_clock;
    const bool due = polls_ % per_clock == 0;
    const bool yields =
        situation.polls_in_kernel ? due : situation.oversubscribed || polls_ > polls_before_yield;
    if (situation.may_sleep && due) {
        const std::uint64_t now = trace::now();
        if (began_ == 0) began_ = now;
        if (now - began_ > static_cast<std::uint64_t>(spin_time.count())) return Step::sleep;
    }
    return yields ? Step::yield : Step::poll;
}

trace::WakeUp sleep_at(std::span<const int> descriptors, std::chrono::nanoseconds limit) {
    std::vector<pollfd> sources;
    for (const int descriptor : descriptors) sources.push_back({descriptor, POLLIN, 0});
    const timespec time{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
    const timespec* const timeout = limit.count() < 0 ? nullptr : &time;
    return ::ppoll(sources.data(), sources.size(), timeout, nullptr) > 0 ? trace::WakeUp::descriptor
                                                                         : trace::WakeUp::limit;
}

}  // namespace lapwing
