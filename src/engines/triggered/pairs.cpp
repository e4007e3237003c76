#include "engines/triggered/pairs.hpp"

#include <cstring>

#include "base/error.hpp"

namespace lapwing::triggered {
namespace {

// No list has it: kept channels are counted from below, and links that have fewer of them (a half or less of
// the tags of an MPI) see one of their last ones.
constexpr std::uint32_t own_channel = first_kept_channel + 0x3ffffffe;

// What goes to the peer.
struct Told {
    struct {
        RegionName counted;
        RegionName silent;
        RegionName credited;
    } slots[2];
    Contact contact;
};

}  // namespace

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
    : network_(network), slot_bytes_(slot_bytes), announcements_(messages) {}

Pair& Pairs::find(std::int32_t peer) {
    auto& pair = pairs_[peer];
    if (pair != nullptr) return *pair;
    pair = std::make_unique<Pair>(network_, slot_bytes_);
    Told told;
    for (const int number : {0, 1}) {
        const Pair::Slot& slot = pair->slot(number);
        told.slots[number] = {RegionName::of(*slot.counted), RegionName::of(*slot.silent),
                              RegionName::of(*slot.credited)};
    }
    told.contact = Contact::of(network_);
    const auto* const begin = reinterpret_cast<const std::byte*>(&told);
    announcements_.send(peer, own_channel, {begin, begin + sizeof told});
    announcements_.receive(peer, own_channel, sizeof told);
    return *pair;
}

void Pairs::progress() {
    announcements_.progress([&](std::int32_t peer, const std::vector<std::byte>& bytes) {
        Told told;
        std::memcpy(&told, bytes.data(), sizeof told);
        Pair& pair = *pairs_.at(peer);
        const std::uint64_t there = told.contact.reach(network_);
        for (const int number : {0, 1}) {
            Pair::Slot& slot = pair.slot(number);
            slot.to_counted = told.slots[number].counted.at(there);
            slot.to_silent = told.slots[number].silent.at(there);
            slot.to_credited = told.slots[number].credited.at(there);
        }
        pair.ready_ = true;
    });
}

DeferredWork::Counter& Pairs::counter(const SlotCounter& counter) {
    Pair::Slot& slot = find(counter.peer).slot(counter.slot);
    return counter.kind == Counter::Kind::credit ? *slot.credit : *slot.landed;
}

const std::byte* Pairs::slot(std::int32_t peer, int slot) {
    return find(peer).slot(slot).memory.get();
}

DeferredWork::Target Pairs::target(const Write& write, int slot) {
    const Pair::Slot& to = find(write.peer).slot(slot);
    DeferredWork::Target target = write.counts ? to.to_counted : to.to_silent;
    target.address += write.bytes == 0 ? slot_bytes_ : write.target;
    return target;
}

DeferredWork::Target Pairs::credit(std::int32_t peer, int slot) {
    return find(peer).slot(slot).to_credited;
}

}  // namespace lapwing::triggered
