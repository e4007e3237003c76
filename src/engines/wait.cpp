#include <poll.h>

#include <chrono>
#include <thread>

#include "engines/engine.hpp"

namespace lapwing {

void wait(Prepared& prepared, Operation* operation) {
    using namespace std::chrono;
    // Long enough for a message to come back on a fast network, short against a scheduler's slice.
    constexpr auto spin = microseconds(100);
    const auto begin = steady_clock::now();
    while (!prepared.progress(operation)) {
        if (steady_clock::now() - begin < spin) {
            std::this_thread::yield();
            continue;
        }
        pollfd changed{prepared.prepare_to_sleep(operation), POLLIN, 0};
        if (changed.fd >= 0) {
            ::poll(&changed, 1, 100);
        } else if (!prepared.sleep(operation, milliseconds(100))) {
            std::this_thread::yield();
        }
    }
}

}  // namespace lapwing
