#include "compute.hpp"

#include <time.h>

#include <cerrno>
#include <cmath>

#include "clock.hpp"

namespace lapwing::overlap {
namespace {

volatile double result_of_work = 1;

}  // namespace

[[gnu::noinline]] void work(std::uint64_t operations) {
    double x = result_of_work;
    for (std::uint64_t i = 0; i < operations; ++i) x = x * 0.9999999 + 1e-7;
    result_of_work = x;
}

void sleep_until(double moment) {
    timespec time{};
    time.tv_sec = static_cast<time_t>(moment);
    time.tv_nsec = static_cast<long>((moment - std::floor(moment)) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) continue;
}

void Block::run() const {
    if (kind == Compute::work) {
        work(operations);
    } else {
        sleep_until(now() + seconds);
    }
}

}  // namespace lapwing::overlap
