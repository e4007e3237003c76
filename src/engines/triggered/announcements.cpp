#include "engines/triggered/announcements.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace lapwing::triggered {

Contact Contact::of(const DeferredWork& network) {
    const std::vector<std::byte> address = network.address();
    if (address.size() > longest)
        throw Error(ErrorCode::system, "libfabric's address is longer than expected");
    Contact contact;
    contact.bytes = address.size();
    std::copy(address.begin(), address.end(), contact.address);
    return contact;
}

std::uint64_t Contact::reach(DeferredWork& network) const {
    if (bytes > longest) throw Error(ErrorCode::link, "what a rank told of its memory is not whole");
    return network.reach({address, address + static_cast<std::ptrdiff_t>(bytes)});
}

// The link may still look at what is under way: nobody knows until when, so it stays.
Announcements::~Announcements() {
    if (under_way_.empty()) return;
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::unique_ptr<Message>>;
    const std::lock_guard lock(mutex);
    std::move(under_way_.begin(), under_way_.end(), std::back_inserter(*kept));
}

void Announcements::send(std::int32_t peer, std::uint32_t channel, std::vector<std::byte> bytes) {
    unsent_.push_back(std::make_unique<Message>(Message{peer, channel, false, std::move(bytes), {}}));
}

void Announcements::receive(std::int32_t peer, std::uint32_t channel, std::size_t bytes) {
    unsent_.push_back(
        std::make_unique<Message>(Message{peer, channel, true, std::vector<std::byte>(bytes), {}}));
}

void Announcements::progress(const Take& take) {
    if (all_told() || !messages_.ready()) return;
    for (auto& message : unsent_) {
        std::byte* const bytes = message->bytes.data();
        if (message->receives)
            messages_.recv(message->peer, bytes, message->bytes.size(), message->channel, message->transfer);
        else
            messages_.send(message->peer, bytes, message->bytes.size(), message->channel, message->transfer);
        under_way_.push_back(std::move(message));
    }
    unsent_.clear();
    messages_.flush();
    std::erase_if(under_way_, [&](const std::unique_ptr<Message>& message) {
        if (!messages_.test(message->transfer)) return false;
        if (message->receives) take(message->peer, message->bytes);
        return true;
    });
}

}  // namespace lapwing::triggered
