#include "links/event/poll_set.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace lapwing {

PollSet::~PollSet() {
    close();
}

void PollSet::close() {
    if (poller_ >= 0) ::close(poller_);
    poller_ = -1;
}

int PollSet::of(int first, int second) {
    if (first < 0 || second < 0) return -1;
    if (first == second) return first;
    if (poller_ >= 0 && watched_[0] == first && watched_[1] == second) return poller_;
    // A new set each time: a descriptor that has been closed meanwhile cannot be removed.
    close();
    poller_ = ::epoll_create1(EPOLL_CLOEXEC);
    const auto watch = [this](int descriptor) {
        epoll_event event{};
        event.events = EPOLLIN;
        return ::epoll_ctl(poller_, EPOLL_CTL_ADD, descriptor, &event) == 0;
    };
    if (poller_ < 0 || !watch(first) || !watch(second)) {
        const int error = errno;
        close();
        throw_system("epoll", error);
    }
    watched_[0] = first;
    watched_[1] = second;
    return poller_;
}

}  // namespace lapwing
