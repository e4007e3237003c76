#include "links/event/wake_pipe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"

namespace lapwing {

WakePipe::WakePipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw_system("pipe");
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
}

void WakePipe::drain() const {
    char bytes[256];
    while (::read(descriptor(), bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) {
    }
}

Descriptor WakePipe::open_writer(pid_t process, int writer) {
    // Also for reading: otherwise SIGPIPE would end the writer after the reader has ended.
    Descriptor opened(
        ::open(fmt::format("/proc/{}/fd/{}", process, writer).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!opened) throw_system("opening the pipe that wakes another rank");
    return opened;
}

void WakePipe::wake(int writer) {
    const char byte = 0;
    static_cast<void>(!::write(writer, &byte, 1));
}

}  // namespace lapwing
