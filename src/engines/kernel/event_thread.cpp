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
    if (sockets_ >= 0) connections_.event_loop().forget(sockets_);
}

void EventThreadCalls::request() {
    connections_.event_loop().post([target = target_] { target->run(); });
}

bool EventThreadCalls::request_after(std::chrono::nanoseconds delay) {
    if (!timer_) {
        Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        try {
            connections_.event_loop().watch(timer.get(), EPOLLIN | EPOLLET,
                                            [target = target_](unsigned) { target->run(); });
        } catch (const Error&) {
            return false;
        }
        timer_ = std::move(timer);
    }
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
    connections_.event_loop().watch(ring_, EPOLLIN, [target = target_](unsigned) { target->run(); });
}

bool EventThreadCalls::watch_sockets(SocketWatch& sockets) {
    if (sockets_ >= 0) return true;
    try {
        const int descriptor = sockets.descriptor();
        connections_.event_loop().watch(descriptor, EPOLLIN, [target = target_](unsigned) { target->run(); });
        sockets_ = descriptor;
    } catch (const Error&) {
        return false;
    }
    return true;
}

void EventThreadCalls::forget_ring() {
    watches_ring_ = false;
    // Without waiting for a call that waits for the thread which is inside the group.
    connections_.event_loop().forget(ring_, false);
}

int SocketWatch::descriptor() {
    if (!poller_) poller_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!poller_) throw_system("epoll_create");
    return poller_.get();
}

void SocketWatch::watch(int socket, bool to_send) {
    const int poller = descriptor();
    const unsigned wanted = to_send ? EPOLLOUT : EPOLLIN;
    unsigned& watched = watched_[socket];
    if ((watched & wanted) != 0) return;
    epoll_event event{};
    event.events = watched | wanted | EPOLLONESHOT;
    event.data.fd = socket;
    if (::epoll_ctl(poller, EPOLL_CTL_MOD, socket, &event) != 0 &&
        (errno != ENOENT || ::epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event) != 0)) {
        watched_.erase(socket);
        throw_system("epoll_ctl");
    }
    watched |= wanted;
}

void SocketWatch::collect() {
    if (!poller_) return;
    epoll_event events[16];
    int count = 0;
    do {
        count = ::epoll_wait(poller_.get(), events, 16, 0);
        for (int i = 0; i < count; ++i) watched_[events[i].data.fd] = 0;
    } while (count == 16);
}

void SocketWatch::forget(int socket) {
    if (watched_.erase(socket) == 0) return;
    epoll_event none{};
    ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, socket, &none);
}

}  // namespace lapwing::kernel
