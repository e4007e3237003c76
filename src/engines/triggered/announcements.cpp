#include "engines/triggered/announcements.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace lapwing::triggered {

Contact Contact::of(const DeferredWork& network) {
    const std::vector<std::byte> address = network.address();
    if (address.size() > max_bytes)
        throw Error(ErrorCode::system, "libfabric's address is longer than expected");
    Contact contact;
    contact.bytes = address.size();
    std::copy(address.begin(), address.end(), contact.address);
    return contact;
}

std::uint64_t Contact::reach(DeferredWork& network) const {
    if (bytes > max_bytes)
        throw Error(ErrorCode::link, "a rank sent a wrong description of its memory for deferred work");
    return network.reach({address, address + static_cast<std::ptrdiff_t>(bytes)});
}

// The link may still use messages in flight, for an unknown time: they stay until the process ends.
Announcements::~Announcements() {
    if (in_flight_.empty()) return;
    static std::mutex mutex;
    static auto* const abandoned = new All;
    const std::lock_guard lock(mutex);
    std::move(in_flight_.begin(), in_flight_.end(), std::back_inserter(*abandoned));
}

void Announcements::exchange(std::int32_t peer, std::uint32_t channel, std::vector<std::byte> bytes,
                             std::size_t expected) {
    unsent_.push_back(std::make_unique<Announcement>(Announcement{peer, channel, false, std::move(bytes)}));
    unsent_.push_back(
        std::make_unique<Announcement>(Announcement{peer, channel, true, std::vector<std::byte>(expected)}));
}

void Announcements::progress(const Take& take) {
    if (complete() || !messages_.ready()) return;
    for (auto& one : unsent_) {
        std::byte* const bytes = one->bytes.data();
        if (one->receives)
            messages_.recv(one->peer, bytes, one->bytes.size(), one->channel, one->transfer);
        else
            messages_.send(one->peer, bytes, one->bytes.size(), one->channel, one->transfer);
        in_flight_.push_back(std::move(one));
    }
    unsent_.clear();
    messages_.flush();
    std::erase_if(in_flight_, [&](const std::unique_ptr<Announcement>& one) {
        if (!messages_.test(one->transfer)) return false;
        if (one->receives) take(one->peer, one->bytes);
        return true;
    });
}

}  // namespace lapwing::triggered
