#include "engines/kernel/event_thread.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace lapwing::kernel {

EventThreadCalls::EventThreadCalls(Connections& connections, int ring, std::function<void()> call)
    : connections_(connections), ring_(ring), target_(std::make_shared<Target>()) {
    target_->call = std::move(call);
    connections_.on_change([target = target_] { target->run(); });
}

EventThreadCalls::~EventThreadCalls() {
    {
        const std::lock_guard lock(target_->mutex);
        target_->call = {};
    }
    connections_.on_change({});
    connections_.event_loop().forget(ring_);
    if (timer_) connections_.event_loop().forget(timer_.get());
    if (poller_) connections_.event_loop().forget(poller_.get());
}

void EventThreadCalls::watch(int descriptor, unsigned events) {
    connections_.event_loop().watch(descriptor, events, [target = target_](unsigned) { target->run(); });
}

// Stores a descriptor that was made just now. Returns false if there is none, or it cannot be watched.
bool EventThreadCalls::watch(Descriptor& kept, int descriptor, unsigned events) {
    Descriptor made(descriptor);
    try {
        if (!made) return false;
        watch(descriptor, events);
    } catch (const Error&) {
        return false;
    }
    kept = std::move(made);
    return true;
}

void EventThreadCalls::request() {
    connections_.event_loop().post([target = target_] { target->run(); });
}

bool EventThreadCalls::request_after(std::chrono::nanoseconds delay) {
    if (!timer_ &&
        !watch(timer_, ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), EPOLLIN | EPOLLET))
        return false;
    itimerspec when{};
    when.it_value.tv_nsec = delay.count();
    return ::timerfd_settime(timer_.get(), 0, &when, nullptr) == 0;
}

void EventThreadCalls::drop_request() {
    constexpr itimerspec never{};
    ::timerfd_settime(timer_.get(), 0, &never, nullptr);
}

void EventThreadCalls::watch_ring() {
    watches_ring_ = true;
    watch(ring_, EPOLLIN);
}

void EventThreadCalls::forget_ring() {
    watches_ring_ = false;
    // Without waiting for a call that waits for the thread which is inside the group.
    connections_.event_loop().forget(ring_, false);
}

bool EventThreadCalls::may_watch_sockets() {
    return poller_ || watch(poller_, ::epoll_create1(EPOLL_CLOEXEC), EPOLLIN);
}

void EventThreadCalls::watch_socket(int socket, bool to_send) {
    const unsigned wanted = to_send ? EPOLLOUT : EPOLLIN;
    unsigned& watched = watched_[socket];
    if ((watched & wanted) != 0) return;
    epoll_event event{};
    event.events = watched | wanted | EPOLLONESHOT;
    event.data.fd = socket;
    if (::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, socket, &event) != 0 &&
        (errno != ENOENT || ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket, &event) != 0)) {
        watched_.erase(socket);
        throw_system("epoll_ctl");
    }
    watched |= wanted;
}

void EventThreadCalls::collect_ready_sockets() {
    if (!poller_) return;
    epoll_event events[16];
    int count = 0;
    do {
        count = ::epoll_wait(poller_.get(), events, 16, 0);
        for (int i = 0; i < count; ++i) watched_[events[i].data.fd] = 0;
    } while (count == 16);
}

void EventThreadCalls::forget_socket(int socket) {
    if (watched_.erase(socket) == 0) return;
    epoll_event none{};
    ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, socket, &none);
}

}  // namespace lapwing::kernel
