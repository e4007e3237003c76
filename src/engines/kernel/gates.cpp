#include "engines/kernel/gates.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::kernel {

Gates::~Gates() {
    for (const Gate gate : idle_) close(gate);
}

Gate Gates::acquire() {
    if (!idle_.empty()) {
        const Gate gate = idle_.back();
        idle_.pop_back();
        return gate;
    }
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw Error(ErrorCode::system,
                    fmt::format("cannot create a gate of the kernel engine: {}{}", std::strerror(errno),
                                errno == EMFILE ? "; raise `ulimit -n`, or LAPWING_ENGINE=host" : ""));
    }
    // Holds more signals than any list has on one gate (ChainLimits::gate_signals). The system's default may
    // be smaller.
    constexpr int room = 212992;
    ::setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return {pair[0], pair[1]};
}

void Gates::close(Gate gate) {
    ::close(gate.entrance);
    ::close(gate.exit);
}

}  // namespace lapwing::kernel
