#include "links/event/poll_set.hpp"

#include <sys/epoll.h>

#include <cerrno>

#include "base/error.hpp"

namespace lapwing {

int PollSet::of(int first, int second) {
    if (first < 0 || second < 0) return -1;
    if (first == second) return first;
    if (poller_ && watched_[0] == first && watched_[1] == second) return poller_.get();
    // A new set each time: a descriptor that has been closed meanwhile cannot be removed.
    poller_.reset();
    poller_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    const auto watch = [this](int descriptor) {
        epoll_event event{};
        event.events = EPOLLIN;
        return ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
    };
    if (!poller_ || !watch(first) || !watch(second)) {
        const int error = errno;
        poller_.reset();
        throw_system("epoll", error);
    }
    watched_[0] = first;
    watched_[1] = second;
    return poller_.get();
}

}  // namespace lapwing
