#include "engines/kernel/socket_watch.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace lapwing::kernel {

SocketWatch::~SocketWatch() {
    if (poller_ >= 0) ::close(poller_);
}

int SocketWatch::descriptor() {
    if (poller_ < 0) poller_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (poller_ < 0) throw_system("epoll_create");
    return poller_;
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
    if (poller_ < 0) return;
    epoll_event events[16];
    int count = 0;
    do {
        count = ::epoll_wait(poller_, events, 16, 0);
        for (int i = 0; i < count; ++i) watched_[events[i].data.fd] = 0;
    } while (count == 16);
}

void SocketWatch::forget(int socket) {
    if (watched_.erase(socket) == 0) return;
    epoll_event none{};
    ::epoll_ctl(poller_, EPOLL_CTL_DEL, socket, &none);
}

}  // namespace lapwing::kernel
