#include "device/copies.hpp"

#include "base/error.hpp"

namespace lapwing::device {

Copies::~Copies() {
    if (!location_.on_device()) return;
    // After an error, copies in flight may still write.
    try {
        location_.driver->wait(open_);
    } catch (const Error&) {
    }
    leave();
}

void Copies::to_host(const Location& location, std::byte* host, const void* address, std::uint64_t bytes) {
    if (bytes == 0) return;
    enter(location);
    location_.driver->to_host(open_, host, address, bytes);
}

void Copies::to_device(const Location& location, void* address, const std::byte* host, std::uint64_t bytes) {
    if (bytes == 0) return;
    enter(location);
    location_.driver->to_device(open_, address, host, bytes);
}

void Copies::finish() {
    if (!location_.on_device()) return;
    location_.driver->wait(open_);
    leave();
}

// Copies in one context are in flight together.
void Copies::enter(const Location& location) {
    if (location_.driver == location.driver && location_.context == location.context &&
        location_.device == location.device)
        return;
    finish();
    open_ = location.driver->open_copies(location);
    location_ = location;
}

void Copies::leave() noexcept {
    location_.driver->close_copies(location_, open_);
    location_ = {};
}

}  // namespace lapwing::device
