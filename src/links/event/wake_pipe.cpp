#include "links/event/wake_pipe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"

namespace lapwing {

WakePipe::WakePipe() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) throw_system("pipe");
}

WakePipe::~WakePipe() {
    for (const int end : ends_) ::close(end);
}

void WakePipe::drain() const {
    char bytes[256];
    while (::read(ends_[0], bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) {
    }
}

int WakePipe::open_writer(pid_t process, int writer) {
    // Also for reading: otherwise SIGPIPE would end the writer after the reader has ended.
    const int opened =
        ::open(fmt::format("/proc/{}/fd/{}", process, writer).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0) {
        throw_system("opening the pipe that wakes another rank");
    }
    return opened;
}

void WakePipe::wake(int writer) {
    const char byte = 0;
    static_cast<void>(!::write(writer, &byte, 1));
}

}  // namespace lapwing
