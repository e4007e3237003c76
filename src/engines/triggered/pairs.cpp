#include "engines/triggered/pairs.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.hpp"

namespace lapwing::triggered {
namespace {

// No list has it: kept channels are counted from below, and links that have fewer of them (a half or less of
// the tags of an MPI) see one of their last ones.
constexpr std::uint32_t own_channel = first_kept_channel + 0x3ffffffe;
constexpr std::size_t longest_address = 256;

}  // namespace

struct Pairs::Told {
    struct Name {
        std::uint64_t key;
        std::uint64_t address;
    };
    struct {
        Name counted;
        Name silent;
        Name credited;
    } slots[2];
    std::uint64_t address_bytes;
    std::byte address[longest_address];
};

struct Pairs::Message {
    std::int32_t peer;
    bool receives;
    Told told;
    Link::Transfer transfer;
};

Pair::Pair(DeferredWork& network, std::size_t slot_bytes) {
    for (Slot& slot : slots_) {
        // One more byte, for messages of none.
        slot.memory.reset(new std::byte[slot_bytes + 1]);
        slot.landed = network.make_counter();
        slot.credit = network.make_counter();
        slot.counted = network.expose(slot.memory.get(), slot_bytes + 1, slot.landed.get());
        slot.silent = network.expose(slot.memory.get(), slot_bytes + 1, nullptr);
        slot.credited = network.expose(slot.memory.get() + slot_bytes, 1, slot.credit.get());
    }
}

Pairs::Pairs(DeferredWork& network, Link& messages, std::size_t slot_bytes)
    : network_(network), messages_(messages), slot_bytes_(slot_bytes) {}

// The link may still look at what is under way: nobody knows until when, so it stays.
Pairs::~Pairs() {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::unique_ptr<Message>>;
    const std::lock_guard lock(mutex);
    std::move(under_way_.begin(), under_way_.end(), std::back_inserter(*kept));
}

Pair& Pairs::find(std::int32_t peer) {
    auto& pair = pairs_[peer];
    if (pair != nullptr) return *pair;
    pair = std::make_unique<Pair>(network_, slot_bytes_);
    auto out = std::make_unique<Message>();
    auto in = std::make_unique<Message>();
    out->peer = in->peer = peer;
    out->receives = false;
    in->receives = true;
    out->told = {};
    for (const int number : {0, 1}) {
        const auto name = [](const DeferredWork::Region& region) -> Told::Name {
            return {region.key(), region.address()};
        };
        const Pair::Slot& slot = pair->slot(number);
        out->told.slots[number] = {name(*slot.counted), name(*slot.silent), name(*slot.credited)};
    }
    const std::vector<std::byte> address = network_.address();
    if (address.size() > longest_address)
        throw Error(ErrorCode::system, "libfabric's address is longer than expected");
    out->told.address_bytes = address.size();
    std::copy(address.begin(), address.end(), out->told.address);
    unsent_.push_back(std::move(out));
    unsent_.push_back(std::move(in));
    return *pair;
}

void Pairs::progress() {
    if (all_told()) return;
    if (!messages_.ready()) return;
    for (auto& message : unsent_) {
        auto* const bytes = reinterpret_cast<std::byte*>(&message->told);
        if (message->receives)
            messages_.recv(message->peer, bytes, sizeof(Told), own_channel, message->transfer);
        else
            messages_.send(message->peer, bytes, sizeof(Told), own_channel, message->transfer);
        under_way_.push_back(std::move(message));
    }
    unsent_.clear();
    messages_.flush();
    std::erase_if(under_way_, [&](const std::unique_ptr<Message>& message) {
        if (!messages_.test(message->transfer)) return false;
        if (message->receives) take(message->peer, message->told);
        return true;
    });
}

void Pairs::tell_no_more() {
    unsent_.clear();
}

void Pairs::take(std::int32_t peer, const Told& told) {
    if (told.address_bytes > longest_address)
        throw Error(ErrorCode::link, "what a rank told of its memory is not whole");
    Pair& pair = *pairs_.at(peer);
    const std::uint64_t there =
        network_.reach({told.address, told.address + static_cast<std::ptrdiff_t>(told.address_bytes)});
    for (const int number : {0, 1}) {
        Pair::Slot& slot = pair.slot(number);
        const auto target = [&](const Told::Name& name) -> DeferredWork::Target {
            return {there, name.key, name.address};
        };
        slot.to_counted = target(told.slots[number].counted);
        slot.to_silent = target(told.slots[number].silent);
        slot.to_credited = target(told.slots[number].credited);
    }
    pair.ready_ = true;
}

}  // namespace lapwing::triggered
