#include "device/copies.hpp"

#include "base/error.hpp"

namespace lapwing::device {

Copies::~Copies() {
    if (!place_.on_device()) return;
    // After an error: what has begun may still write.
    try {
        place_.driver->wait(open_);
    } catch (const Error&) {
    }
    leave();
}

void Copies::to_host(const Place& place, std::byte* host, const void* address, std::uint64_t bytes) {
    if (bytes == 0) return;
    enter(place);
    place_.driver->to_host(open_, host, address, bytes);
}

void Copies::to_device(const Place& place, void* address, const std::byte* host, std::uint64_t bytes) {
    if (bytes == 0) return;
    enter(place);
    place_.driver->to_device(open_, address, host, bytes);
}

void Copies::finish() {
    if (!place_.on_device()) return;
    place_.driver->wait(open_);
    leave();
}

// Copies in one context go on together.
void Copies::enter(const Place& place) {
    if (place_.driver == place.driver && place_.context == place.context && place_.device == place.device)
        return;
    finish();
    open_ = place.driver->open_copies(place);
    place_ = place;
}

void Copies::leave() noexcept {
    place_.driver->close_copies(place_, open_);
    place_ = {};
}

}  // namespace lapwing::device
