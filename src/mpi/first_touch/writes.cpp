#include "mpi/first_touch/writes.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "mpi/first_touch/kernel.hpp"

namespace lapwing::first_touch {
namespace {

// As in Linux 6.7; headers may be older.
struct Region {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t categories;
};
struct Scan {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t scanned_to;
    std::uint64_t regions;
    std::uint64_t capacity;
    std::uint64_t max_pages;
    std::uint64_t inverted;
    std::uint64_t all_of;
    std::uint64_t any_of;
    std::uint64_t reported;
};
constexpr unsigned long scan_pages = _IOWR('f', 16, Scan);
constexpr std::uint64_t mark_again = 1;
constexpr std::uint64_t fail_if_unwatched = 2;
constexpr std::uint64_t is_written = 2;
constexpr std::uint64_t asynchronous_write_protection = 1 << 15;
constexpr int user_mode_only = 1;

constexpr std::size_t max_watched = 64;
// Between two scans, in nanoseconds. A page that is marked costs a fault of about this time when it is
// written next. Scans take up to a tenth of the time, and so do faults.
constexpr std::uint64_t min_interval = 500'000;
constexpr std::uint64_t max_interval = 50'000'000;
constexpr std::uint64_t fault = 700;
constexpr std::uint64_t share = 10;
constexpr std::uint64_t min_page = 4096;

struct Watched {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    LastWrite written;
    std::uint64_t scanned = 0;  // when the last scan began
    std::uint64_t marked = 0;   // when all pages were marked
    std::uint64_t bytes = 0;    // on pages that were found written since
    std::uint64_t used = 0;
};

std::mutex mutex;  // of all below
// Never destroyed: the thread runs until the process has ended.
std::vector<Watched>& all = *new std::vector<Watched>;
int faults = -1;
int pagemap = -1;

long call_kernel(int file, unsigned long request, void* argument) {
    return native_syscall(SYS_ioctl, file, request, argument);
}

bool set_range(const Watched& one, bool watched) {
    if (!watched) {
        uffdio_range range = {one.begin, one.end - one.begin};
        return call_kernel(faults, UFFDIO_UNREGISTER, &range) == 0;
    }
    uffdio_register range{};
    range.range = {one.begin, one.end - one.begin};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    return call_kernel(faults, UFFDIO_REGISTER, &range) == 0;
}

// Looks for pages that were written, and marks them again if enough time has passed for what their faults
// cost. Until then, only writes to other pages are seen: the last write is no earlier than the scan before
// these, and may be as late as now. Returns false if some pages are watched no longer, because the program
// has unmapped them.
bool scan(Watched& one) {
    std::array<Region, 64> regions;
    const std::uint64_t began = nanoseconds();
    const bool marks = began - one.marked >= share * fault * (one.bytes / min_page);
    std::uint64_t bytes = 0;
    for (std::uintptr_t at = one.begin; at < one.end;) {
        Scan arguments{};
        arguments.size = sizeof arguments;
        arguments.flags = fail_if_unwatched | (marks ? mark_again : 0);
        arguments.begin = at;
        arguments.end = one.end;
        arguments.regions = reinterpret_cast<std::uintptr_t>(regions.data());
        arguments.capacity = regions.size();
        arguments.all_of = is_written;
        arguments.reported = is_written;
        const long count = call_kernel(pagemap, scan_pages, &arguments);
        if (count < 0) return false;
        for (long i = 0; i < count; ++i)
            bytes += regions[static_cast<std::size_t>(i)].end - regions[static_cast<std::size_t>(i)].begin;
        at = arguments.scanned_to;
    }
    if (bytes > one.bytes) one.written.earliest = one.scanned;
    if (bytes > 0) one.written.latest = nanoseconds();
    one.bytes = marks ? 0 : bytes;
    if (marks) one.marked = began;
    one.scanned = began;
    return true;
}

[[noreturn]] void* sample(void*) {
    std::uint64_t interval = min_interval;
    while (true) {
        const timespec pause = {0, static_cast<long>(interval)};
        ::nanosleep(&pause, nullptr);
        const std::lock_guard lock(mutex);
        const std::uint64_t began = nanoseconds();
        std::erase_if(all, [](Watched& one) { return !scan(one); });
        interval = std::clamp(share * (nanoseconds() - began), min_interval, max_interval);
    }
}

bool start() {
    static const bool started = [] {
        faults = static_cast<int>(native_syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | user_mode_only));
        pagemap = static_cast<int>(
            native_syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
        uffdio_api api{};
        api.api = UFFD_API;
        api.features = asynchronous_write_protection;
        if (faults < 0 || pagemap < 0 || call_kernel(faults, UFFDIO_API, &api) != 0) return false;
        Scan nothing{};
        nothing.size = sizeof nothing;
        if (call_kernel(pagemap, scan_pages, &nothing) != 0) return false;
        sigset_t signals;
        sigset_t before;
        ::sigfillset(&signals);
        ::pthread_sigmask(SIG_BLOCK, &signals, &before);
        pthread_t thread;
        const bool made = ::pthread_create(&thread, nullptr, sample, nullptr) == 0;
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (made) ::pthread_detach(thread);
        return made;
    }();
    return started;
}

bool overlap(const Watched& one, const Watched& other) {
    return one.begin < other.end && other.begin < one.end;
}

bool contains(const Watched& one, std::uintptr_t begin, std::uintptr_t end) {
    return one.begin <= begin && end <= one.end;
}

}  // namespace

Refusal watch(const void* address, std::size_t bytes) {
    const auto [begin, end] = whole_pages(address, bytes);
    const std::lock_guard lock(mutex);
    for (auto one = all.begin(); one != all.end(); ++one) {
        if (!contains(*one, begin, end)) continue;
        one->used = nanoseconds();
        if (scan(*one)) return Refusal::none;
        all.erase(one);
        break;
    }
    if (const Refusal refusal = pages_refuse(begin, end); refusal != Refusal::none) return refusal;
    if (!start()) return Refusal::system;
    Watched made;
    made.begin = begin;
    made.end = end;
    for (bool grown = true; grown;) {
        grown = std::erase_if(all, [&](const Watched& one) {
                    if (!overlap(one, made)) return false;
                    made.begin = std::min(made.begin, one.begin);
                    made.end = std::max(made.end, one.end);
                    return true;
                }) > 0;
    }
    if (all.size() == max_watched) {
        const auto oldest = std::ranges::min_element(all, {}, &Watched::used);
        set_range(*oldest, false);
        all.erase(oldest);
    }
    if (!set_range(made, true) || !scan(made)) return Refusal::system;
    made.used = made.scanned = nanoseconds();
    made.written = {made.scanned, made.scanned};
    all.push_back(made);
    return Refusal::none;
}

bool find_last_write(const void* address, std::size_t bytes, LastWrite* found) {
    const auto [begin, end] = whole_pages(address, bytes);
    if (begin == end) return false;
    const std::lock_guard lock(mutex);
    for (auto one = all.begin(); one != all.end(); ++one) {
        if (!contains(*one, begin, end)) continue;
        if (!scan(*one)) {
            all.erase(one);
            return false;
        }
        *found = one->written;
        return true;
    }
    return false;
}

}  // namespace lapwing::first_touch
