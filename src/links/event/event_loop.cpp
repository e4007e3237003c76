#include "links/event/event_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "links/event/thread.hpp"

namespace lapwing {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

}  // namespace

struct EventLoop::State {
    struct Watch {
        std::uint32_t number;
        std::function<void(unsigned)> work;
    };
    // What an epoll event carries: an event that was fetched before its watch was replaced or forgotten finds
    // no watch. 0: of the wakeup.
    static std::uint64_t key(int descriptor, std::uint32_t number) {
        return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(descriptor);
    }

    Descriptor poller;
    Descriptor wakeup;  // an eventfd; rings to end the sleep
    pid_t process = getpid();

    std::mutex mutex;
    std::condition_variable finished;  // a watch's work has returned
    bool ending = false;
    bool woken = false;
    std::map<Timer, Work> posted;
    std::uint64_t last_timer = 0;
    std::uint32_t last_watch = 0;
    std::unordered_map<int, std::shared_ptr<Watch>> watches;  // by descriptor
    int running = -1;                                         // the descriptor whose work runs

    std::thread thread;

    bool inside() const { return std::this_thread::get_id() == thread.get_id(); }

    // With the lock held.
    void wake() {
        if (woken || inside()) return;
        woken = true;
        const std::uint64_t one = 1;
        // Fails only if the counter is full: then the loop wakes anyway.
        static_cast<void>(!write(wakeup.get(), &one, sizeof one));
    }

    // Runs what is due. Returns the milliseconds until more is; -1: nothing is posted; -2: the loop ends.
    int run_due() {
        std::unique_lock lock(mutex);
        woken = false;
        const auto now = Clock::now();
        // One by one, because each may cancel those that follow.
        while (!ending && !posted.empty() && posted.begin()->first.when <= now) {
            Work work = std::move(posted.extract(posted.begin()).mapped());
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
        }
        if (ending) return -2;
        if (posted.empty()) return -1;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(posted.begin()->first.when - Clock::now());
        return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3600 * 1000));
    }

    void run_watch(std::uint64_t key, unsigned events) {
        std::shared_ptr<Watch> watch;
        {
            const std::lock_guard lock(mutex);
            const auto found = watches.find(static_cast<int>(key & 0xFFFFFFFF));
            if (ending || found == watches.end() || found->second->number != key >> 32) return;
            watch = found->second;
            running = found->first;
        }
        watch->work(events);
        watch.reset();
        const std::lock_guard lock(mutex);
        running = -1;
        finished.notify_all();
    }

    void run() noexcept {
        epoll_event events[64];
        while (true) {
            const int timeout = run_due();
            if (timeout == -2) return;
            // EINTR also occurs without a signal, when the kernel does io_uring work in this thread.
            const int count = epoll_wait(poller.get(), events, 64, timeout);
            for (int i = 0; i < count; ++i) {
                if (events[i].data.u64 != 0) {
                    run_watch(events[i].data.u64, events[i].events);
                    continue;
                }
                std::uint64_t rings = 0;
                static_cast<void>(!read(wakeup.get(), &rings, sizeof rings));
            }
        }
    }
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {
    state_->poller = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!state_->poller) throw_system("epoll_create");
    state_->wakeup = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!state_->wakeup) throw_system("eventfd");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = 0;
    if (epoll_ctl(state_->poller.get(), EPOLL_CTL_ADD, state_->wakeup.get(), &event) != 0)
        throw_system("epoll_ctl");

    // Under the lock: the thread must not run before its id is stored.
    const std::lock_guard lock(state_->mutex);
    state_->thread = start_thread([state = state_.get()] { state->run(); });
}

EventLoop::~EventLoop() {
    // In a child of fork the thread does not exist, a lock may be held for ever, and the epoll set is the
    // parent's: nothing there may be touched.
    if (state_->process != getpid()) {
        static_cast<void>(state_.release());
        return;
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->ending = true;
        state_->wake();
    }
    state_->thread.join();
}

void EventLoop::place(const std::vector<int>& processors) {
    place_thread(state_->thread, processors);
}

EventLoop::Timer EventLoop::post_after(std::chrono::milliseconds delay, Work work) {
    const std::lock_guard lock(state_->mutex);
    const Timer timer{Clock::now() + delay, ++state_->last_timer};
    const bool first = state_->posted.empty() || timer < state_->posted.begin()->first;
    state_->posted.emplace(timer, std::move(work));
    if (first) state_->wake();
    return timer;
}

void EventLoop::cancel(const Timer& timer) {
    decltype(State::posted)::node_type dropped;  // destroyed after the lock
    const std::lock_guard lock(state_->mutex);
    dropped = state_->posted.extract(timer);
}

void EventLoop::watch(int descriptor, unsigned events, std::function<void(unsigned)> work) {
    std::shared_ptr<State::Watch> watch;  // in the end the one that was replaced: destroyed after the lock
    const std::lock_guard lock(state_->mutex);
    watch = std::make_shared<State::Watch>(State::Watch{++state_->last_watch, std::move(work)});
    epoll_event event{};
    event.events = events;
    event.data.u64 = State::key(descriptor, watch->number);
    // The kernel removes a descriptor that was closed without forget().
    if (epoll_ctl(state_->poller.get(), EPOLL_CTL_MOD, descriptor, &event) != 0 &&
        (errno != ENOENT || epoll_ctl(state_->poller.get(), EPOLL_CTL_ADD, descriptor, &event) != 0))
        throw_system("epoll_ctl");
    std::swap(state_->watches[descriptor], watch);
}

void EventLoop::forget(int descriptor, bool waits) {
    decltype(State::watches)::node_type forgotten;  // destroyed after the lock
    std::unique_lock lock(state_->mutex);
    forgotten = state_->watches.extract(descriptor);
    epoll_event none{};
    if (forgotten) epoll_ctl(state_->poller.get(), EPOLL_CTL_DEL, descriptor, &none);
    if (!waits || state_->inside()) return;
    state_->finished.wait(lock, [&] { return state_->running != descriptor; });
}

}  // namespace lapwing
