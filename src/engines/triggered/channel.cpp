#include "engines/triggered/channel.hpp"

#include <algorithm>
#include <cstring>
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
    if (complete()) return;
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

namespace {

// No list has it: persistent channels are counted from below, and links with fewer channels (half of the tags
// of an MPI, or less) map it to one of their last ones.
constexpr std::uint32_t announcement_channel = first_persistent_channel + 0x3ffffffe;

bool lands_in_out(const Piece& landing) {
    return landing.place.memory == Location::Memory::out;
}

std::uint64_t end_in_out(const Exchange& exchange) {
    std::uint64_t end = 0;
    for (const Piece& landing : exchange.landings)
        if (lands_in_out(landing)) end = std::max(end, landing.place.offset + landing.bytes);
    return end;
}

RegionName name_of(const std::unique_ptr<DeferredWork::Region>& region) {
    return region == nullptr ? RegionName() : RegionName::of(*region);
}

template <typename Part>
void append(std::vector<std::byte>& bytes, const Part& part) {
    const auto* const begin = reinterpret_cast<const std::byte*>(&part);
    bytes.insert(bytes.end(), begin, begin + sizeof part);
}

template <typename Part>
Part next(const std::byte*& from) {
    Part part;
    std::memcpy(&part, from, sizeof part);
    from += sizeof part;
    return part;
}

}  // namespace

// An announcement is a Contact, the names of each slot, and a MessageTarget for each message to the sender.
struct Channel::Names {
    RegionName slot[2];
    RegionName out[2];
    RegionName credited;
};

Channel::Channel(DeferredWork& network, Link& messages, std::uint64_t limit, std::uint64_t slot_bytes)
    : network_(network), slot_bytes_(slot_bytes), announcements_(messages), ledger_(Credits::at_end, limit) {}

Channel::Channel(DeferredWork& network, Link& messages, std::uint64_t limit, const Schedule& schedule,
                 std::uint32_t number)
    : network_(network), number_(number), announcements_(messages), ledger_(Credits::at_begin, limit) {
    for (const Exchange& exchange : schedule.exchanges)
        make_slots(peers_[exchange.peer], exchange.slot_bytes, exchange.messages_received > 0,
                   exchange.messages_sent > 0);
}

std::uint64_t Channel::counters_of(const Schedule& schedule) {
    std::uint64_t counters = 0;
    for (const Exchange& exchange : schedule.exchanges)
        counters += (exchange.messages_received > 0 ? 1 : 0) + (exchange.messages_sent > 0 ? 1 : 0);
    return counters;
}

void Channel::make_slots(Peer& peer, std::uint64_t slot_bytes, bool receives, bool sends) {
    peer.slot_bytes = slot_bytes;
    peer.slots.resize(static_cast<std::size_t>(ledger_.slots()));
    for (Slot& slot : peer.slots) {
        // One more byte, for messages of no bytes and for credits.
        slot.memory.reset(new std::byte[slot_bytes + 1]);
        if (receives) {
            slot.landed = network_.make_counter();
            slot.counted = network_.expose(slot.memory.get(), slot_bytes + 1, slot.landed.get());
            if (slot_bytes > 0) slot.uncounted = network_.expose(slot.memory.get(), slot_bytes + 1, nullptr);
        }
        if (sends) {
            slot.credit = network_.make_counter();
            slot.credited = network_.expose(slot.memory.get() + slot_bytes, 1, slot.credit.get());
        }
    }
}

void Channel::open(const Schedule& schedule, std::byte* out) {
    std::uint64_t out_bytes = 0;
    if (is_persistent()) {
        if (out_.value_or(out) != out)
            throw Error(ErrorCode::internal, "a persistent collective was started with a different buffer");
        if (!std::exchange(out_, out))
            for (const Exchange& exchange : schedule.exchanges)
                out_bytes = std::max(out_bytes, end_in_out(exchange));
    }
    if (out_bytes > 0) uncounted_out_ = network_.expose(out, out_bytes, nullptr);
    for (const Exchange& exchange : schedule.exchanges) {
        Peer& peer = peers_[exchange.peer];
        if (std::exchange(peer.is_announced, true)) continue;
        if (!is_persistent()) make_slots(peer, slot_bytes_, true, true);
        Slot& slot = peer.slots.front();
        if (const std::uint64_t bytes = end_in_out(exchange); bytes > 0)
            slot.counted_out = network_.expose(out, bytes, slot.landed.get());
        announce(exchange, peer);
    }
}

void Channel::announce(const Exchange& exchange, Peer& peer) {
    std::vector<std::byte> bytes;
    append(bytes, Contact::of(network_));
    for (const Slot& slot : peer.slots) {
        append(bytes, Names{{name_of(slot.uncounted), name_of(slot.counted)},
                            {name_of(uncounted_out_), name_of(slot.counted_out)},
                            name_of(slot.credited)});
    }
    for (const Piece& landing : exchange.landings) {
        append(bytes, MessageTarget{lands_in_out(landing) ? 1U : 0U,
                                    landing.bytes == 0 ? peer.slot_bytes : landing.place.offset});
    }
    if (is_persistent()) peer.targets.resize(exchange.messages_sent);
    const std::size_t expected =
        sizeof(Contact) + peer.slots.size() * sizeof(Names) + peer.targets.size() * sizeof(MessageTarget);
    announcements_.exchange(exchange.peer, number_.value_or(announcement_channel), std::move(bytes),
                            expected);
}

void Channel::take(std::int32_t rank, const std::vector<std::byte>& bytes) {
    Peer& peer = peers_.at(rank);
    const std::byte* from = bytes.data();
    const std::uint64_t there = next<Contact>(from).reach(network_);
    for (Slot& slot : peer.slots) {
        const Names names = next<Names>(from);
        for (const int counted : {0, 1}) {
            slot.to_slot[counted] = names.slot[counted].at(there);
            slot.to_out[counted] = names.out[counted].at(there);
        }
        slot.to_credit = names.credited.at(there);
    }
    for (MessageTarget& target : peer.targets) target = next<MessageTarget>(from);
    peer.is_ready = true;
}

void Channel::close() {
    uncounted_out_.reset();
    for (auto& [rank, peer] : peers_) peer.slots.front().counted_out.reset();
}

void Channel::progress() {
    announcements_.progress(
        [&](std::int32_t peer, const std::vector<std::byte>& bytes) { take(peer, bytes); });
}

bool Channel::is_ready(const Schedule& schedule) const {
    return std::all_of(schedule.exchanges.begin(), schedule.exchanges.end(),
                       [&](const Exchange& exchange) { return at(exchange.peer).is_ready; });
}

DeferredWork::Counter& Channel::counter(const SlotCounter& one) {
    const Slot& slot = at(one.peer).slots[static_cast<std::size_t>(one.slot)];
    return one.kind == Counter::Kind::credit ? *slot.credit : *slot.landed;
}

const std::byte* Channel::slot(std::int32_t peer, int number) const {
    return at(peer).slots[static_cast<std::size_t>(number)].memory.get();
}

DeferredWork::Target Channel::target(const Write& write, int number) const {
    const Peer& peer = at(write.peer);
    const Slot& slot = peer.slots[static_cast<std::size_t>(number)];
    MessageTarget to{0, write.bytes == 0 ? slot_bytes_ : write.target - write.within};
    if (is_persistent()) to = peer.targets[write.message];
    DeferredWork::Target target = (to.in_out != 0 ? slot.to_out : slot.to_slot)[write.counts ? 1 : 0];
    target.address += to.offset + write.within;
    return target;
}

DeferredWork::Target Channel::credit(std::int32_t peer, int slot) const {
    return at(peer).slots[static_cast<std::size_t>(slot)].to_credit;
}

}  // namespace lapwing::triggered
