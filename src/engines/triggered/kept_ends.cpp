#include "engines/triggered/kept_ends.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lapwing::triggered {
namespace {

std::uint64_t end_in_out(const Exchange& exchange) {
    std::uint64_t end = 0;
    for (const Piece& landing : exchange.landings)
        if (landing.place.memory == triggered::Place::Memory::out)
            end = std::max(end, landing.place.offset + landing.bytes);
    return end;
}

}  // namespace

// What goes to the peer; behind it a Place for each message that it sends.
struct KeptEnds::Told {
    RegionName slot[2];
    RegionName out[2];
    RegionName credited;
    Contact contact;
};

KeptEnds::KeptEnds(DeferredWork& network, Link& messages, std::shared_ptr<const Schedule> schedule,
                   std::uint32_t channel, std::uint64_t limit)
    : ledger(*schedule, limit),
      network_(network),
      schedule_(std::move(schedule)),
      channel_(channel),
      announcements_(messages) {
    for (const Exchange& exchange : schedule_->exchanges) {
        End& end = ends_[exchange.peer];
        end.exchange = &exchange;
        if (exchange.messages_received > 0) end.landed = network_.make_counter();
        if (exchange.messages_sent > 0) end.credit = network_.make_counter();
    }
}

std::uint64_t KeptEnds::counters_of(const Schedule& schedule) {
    std::uint64_t counters = 0;
    for (const Exchange& exchange : schedule.exchanges)
        counters += (exchange.messages_received > 0 ? 1 : 0) + (exchange.messages_sent > 0 ? 1 : 0);
    return counters;
}

void KeptEnds::open(std::byte* out) {
    if (opened_) {
        if (out != out_) throw Error(ErrorCode::internal, "a persistent collective has got another buffer");
        return;
    }
    opened_ = true;
    out_ = out;
    if (ends_.empty()) return;
    // Of each peer one byte more, for messages of none and for credits.
    std::uint64_t bytes = 0;
    for (const auto& [peer, end] : ends_) bytes += end.exchange->slot_bytes + 1;
    slots_.reset(new std::byte[bytes]);
    silent_slots_ = network_.expose(slots_.get(), bytes, nullptr);
    std::uint64_t out_bytes = 0;
    std::byte* next = slots_.get();
    for (auto& [peer, end] : ends_) {
        const std::uint64_t slot_bytes = end.exchange->slot_bytes;
        end.slot = next;
        next += slot_bytes + 1;
        if (end.credit != nullptr) end.credited = network_.expose(end.slot + slot_bytes, 1, end.credit.get());
        if (end.landed == nullptr) continue;
        end.counted_slot = network_.expose(end.slot, slot_bytes + 1, end.landed.get());
        const std::uint64_t in_out = end_in_out(*end.exchange);
        out_bytes = std::max(out_bytes, in_out);
        if (in_out > 0) end.counted_out = network_.expose(out, in_out, end.landed.get());
    }
    if (out_bytes > 0) silent_out_ = network_.expose(out, out_bytes, nullptr);
    for (auto& [peer, end] : ends_) tell(peer, end);
}

void KeptEnds::tell(std::int32_t peer, End& end) {
    const auto name = [](const std::unique_ptr<DeferredWork::Region>& region) {
        return region == nullptr ? RegionName() : RegionName::of(*region);
    };
    const Exchange& exchange = *end.exchange;
    Told told;
    told.contact = Contact::of(network_);
    told.credited = name(end.credited);
    // One region has the slots of all peers.
    told.slot[0] = name(silent_slots_);
    told.slot[0].address += static_cast<std::uint64_t>(end.slot - slots_.get());
    told.slot[1] = name(end.counted_slot);
    told.out[0] = name(silent_out_);
    told.out[1] = name(end.counted_out);
    std::vector<Place> places;
    for (const Piece& landing : exchange.landings) {
        const bool in_out = landing.place.memory == triggered::Place::Memory::out;
        places.push_back({in_out ? 1U : 0U, landing.bytes == 0 ? exchange.slot_bytes : landing.place.offset});
    }
    std::vector<std::byte> bytes(sizeof told + places.size() * sizeof(Place));
    std::memcpy(bytes.data(), &told, sizeof told);
    if (!places.empty())
        std::memcpy(bytes.data() + sizeof told, places.data(), places.size() * sizeof(Place));
    announcements_.send(peer, channel_, std::move(bytes));
    announcements_.receive(peer, channel_, sizeof told + exchange.messages_sent * sizeof(Place));
}

void KeptEnds::take(std::int32_t peer, const std::vector<std::byte>& bytes) {
    End& end = ends_.at(peer);
    Told told;
    std::memcpy(&told, bytes.data(), sizeof told);
    const std::uint64_t there = told.contact.reach(network_);
    for (const int counted : {0, 1}) {
        end.to_slot[counted] = told.slot[counted].at(there);
        end.to_out[counted] = told.out[counted].at(there);
    }
    end.to_credit = told.credited.at(there);
    end.places.resize(end.exchange->messages_sent);
    if (!end.places.empty())
        std::memcpy(end.places.data(), bytes.data() + sizeof told, end.places.size() * sizeof(Place));
}

bool KeptEnds::ready() {
    announcements_.progress(
        [&](std::int32_t peer, const std::vector<std::byte>& bytes) { take(peer, bytes); });
    return announcements_.all_told();
}

void KeptEnds::close() {
    silent_out_.reset();
    for (auto& [peer, end] : ends_) end.counted_out.reset();
}

DeferredWork::Counter& KeptEnds::counter(const SlotCounter& counter) {
    End& end = ends_.at(counter.peer);
    return counter.kind == Counter::Kind::credit ? *end.credit : *end.landed;
}

const std::byte* KeptEnds::slot(std::int32_t peer, int) {
    return ends_.at(peer).slot;
}

DeferredWork::Target KeptEnds::target(const Write& write, int) {
    const End& end = ends_.at(write.peer);
    const Place& place = end.places[write.message];
    DeferredWork::Target target = (place.in_out != 0 ? end.to_out : end.to_slot)[write.counts ? 1 : 0];
    target.address += place.offset + write.within;
    return target;
}

DeferredWork::Target KeptEnds::credit(std::int32_t peer, int) {
    return ends_.at(peer).to_credit;
}

}  // namespace lapwing::triggered
