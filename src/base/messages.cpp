#include "base/messages.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>

namespace lapwing {
namespace {

// A file that gets the number 2 later is the program's own, and no place for messages. False before this
// file's constructors have run.
const bool began_without_standard_error = ::fcntl(STDERR_FILENO, F_GETFD) < 0;

// A pipe without a reader raises SIGPIPE, which would end the process.
class NoPipeSignal {
  public:
    NoPipeSignal() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoPipeSignal() {
        const timespec now{0, 0};
        if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoPipeSignal& operator=(NoPipeSignal&&) = delete;

  private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_;
};

bool can_write_soon(int descriptor) {
    pollfd ready{descriptor, POLLOUT, 0};
    int found = 0;
    do {
        found = ::poll(&ready, 1, write_patience);
    } while (found < 0 && errno == EINTR);
    return found > 0;
}

}  // namespace

int write_all(int descriptor, std::string_view bytes) noexcept {
    const NoPipeSignal no_pipe_signal;
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            if (!can_write_soon(descriptor)) return ETIMEDOUT;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

bool detail::vprint(int descriptor, fmt::string_view format, fmt::format_args values) noexcept {
    const int error = errno;
    bool written = false;
    try {
        const std::string text = fmt::vformat(format, values);
        if (descriptor == STDOUT_FILENO) std::fflush(stdout);
        const bool has_place = descriptor != STDERR_FILENO || !began_without_standard_error;
        written = has_place && write_all(descriptor, text) == 0;
    } catch (const std::exception&) {  // no memory for the text
    }
    errno = error;
    return written;
}

void reserve_standard_descriptors() noexcept {
    for (int number = 0; number <= 2; ++number) {
        if (::fcntl(number, F_GETFD) < 0)
            static_cast<void>(::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY));  // the lowest free one
    }
}

}  // namespace lapwing
