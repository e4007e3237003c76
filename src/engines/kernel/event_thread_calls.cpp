#include "engines/kernel/event_thread_calls.hpp"

#include <sys/epoll.h>

#include <utility>

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
    if (sockets_ >= 0) connections_.event_loop().forget(sockets_);
}

void EventThreadCalls::request() {
    connections_.event_loop().post([target = target_] { target->run(); });
}

void EventThreadCalls::watch_ring() {
    watches_ring_ = true;
    connections_.event_loop().watch(ring_, EPOLLIN, [target = target_](unsigned) { target->run(); });
}

void EventThreadCalls::watch_sockets(int sockets) {
    connections_.event_loop().watch(sockets, EPOLLIN, [target = target_](unsigned) { target->run(); });
    sockets_ = sockets;
}

void EventThreadCalls::forget_ring() {
    watches_ring_ = false;
    connections_.event_loop().forget(ring_);
}

}  // namespace lapwing::kernel
