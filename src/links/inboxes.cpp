#include "links/inboxes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace lapwing {
namespace {

// The network writes it.
std::uint64_t read(std::uint64_t& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace

Inboxes::Inboxes(InboxNetwork& network, std::byte* memory, int self, int ranks, const JobKey& key)
    : network_(network),
      self_(static_cast<std::size_t>(self)),
      key_(static_cast<std::uint32_t>(key[0])),
      peers_(static_cast<std::size_t>(ranks)),
      inboxes_(reinterpret_cast<Slot*>(memory)),
      outboxes_(inboxes_ + peers_.size() * slots),
      taken_by_peers_(reinterpret_cast<std::uint64_t*>(outboxes_ + peers_.size() * slots)),
      taken_(taken_by_peers_ + reports * peers_.size()) {}

// Never 0, as the memory is at first. Who does not know the key cannot write a message.
std::uint64_t Inboxes::generation(std::uint64_t messages) const {
    const auto times = static_cast<std::uint32_t>(messages / slots);
    return std::uint64_t{(key_ + 2 * times) | 1} << 32;
}

void Inboxes::begin(FabricMessage& message) {
    Peer& peer = at(message.peer);
    if (message.receive) {
        const auto early = std::ranges::find_if(peer.early, [&](const Arrival& arrival) {
            return arrival.header.group == message.group->number && arrival.header.channel == message.channel;
        });
        if (early != peer.early.end()) {
            const Arrival arrival = *early;
            peer.early.erase(early);
            return network_.complete_receive(message, arrival.data, arrival.header.bytes);
        }
        peer.posted.push_back(&message);
    } else {
        if (peer.unsent.empty() && send(message)) return;
        if (message.left == 0) return;
        peer.unsent.push_back(&message);
    }
    if (!std::exchange(peer.busy, true)) busy_.push_back(message.peer);
}

void Inboxes::abandon(FabricMessage& message) {
    Peer& peer = at(message.peer);
    std::erase(peer.posted, &message);
    std::erase(peer.unsent, &message);
}

bool Inboxes::has_backlog() const {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank)
        if (!peers_[rank].unsent.empty() || owes_report(static_cast<int>(rank))) return true;
    return false;
}

bool Inboxes::owes_report(int rank) const {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    return peer.taken - peer.reported >= slots / 2 && !network_.is_lost(rank);
}

// Peers from which nothing is awaited are polled in turn: one of them may have no room to write to.
bool Inboxes::poll() {
    bool moved = false;
    for (std::size_t i = 0; i < busy_.size();) {
        moved = serve(busy_[i]) || moved;
        Peer& peer = at(busy_[i]);
        peer.busy = !peer.posted.empty() || !peer.unsent.empty();
        if (peer.busy) {
            ++i;
        } else {
            busy_[i] = busy_.back();
            busy_.pop_back();
        }
    }
    turn_ = (turn_ + 1) % peers_.size();
    return serve(static_cast<int>(turn_)) || moved;
}

bool Inboxes::serve(int rank) {
    Peer& peer = at(rank);
    bool moved = false;
    for (Arrival arrival; take(rank, arrival); moved = true) {
        const auto found = std::ranges::find_if(peer.posted, [&](const FabricMessage* message) {
            return message->group->number == arrival.header.group &&
                   message->channel == arrival.header.channel;
        });
        if (found == peer.posted.end()) {
            peer.early.push_back(arrival);
            continue;
        }
        FabricMessage& message = **found;
        peer.posted.erase(found);
        network_.complete_receive(message, arrival.data, arrival.header.bytes);
    }
    if (owes_report(rank)) {
        const std::size_t number = peer.reports_sent % reports;
        std::uint64_t& report = taken_[static_cast<std::size_t>(rank) * reports + number];
        report = peer.taken;
        const auto place = reinterpret_cast<std::byte*>(&taken_by_peers_[self_ * reports + number]);
        if (network_.put(rank, reinterpret_cast<std::byte*>(&report),
                         static_cast<std::size_t>(place - reinterpret_cast<std::byte*>(inboxes_)),
                         sizeof report, nullptr)) {
            peer.reported = peer.taken;
            ++peer.reports_sent;
        }
    }
    for (; !peer.unsent.empty() && send(*peer.unsent.front()); moved = true) peer.unsent.pop_front();
    return moved;
}

void Inboxes::take_reports(int rank) {
    Peer& peer = at(rank);
    for (;; ++peer.reports_taken) {
        const std::size_t number = peer.reports_taken % reports;
        const std::uint64_t taken = read(taken_by_peers_[static_cast<std::size_t>(rank) * reports + number]);
        if (taken <= peer.taken_there) return;
        peer.taken_there = taken;
    }
}

// False: there is no room, or the peer is lost.
bool Inboxes::send(FabricMessage& message) {
    Peer& peer = at(message.peer);
    take_reports(message.peer);
    if (peer.sent - peer.taken_there >= slots) return false;
    Part parts[max_words] = {};
    const Header header = {static_cast<std::uint32_t>(message.bytes), message.channel, message.group->number};
    std::memcpy(parts, &header, sizeof header);
    if (message.bytes > 0) std::memcpy(parts + header_parts, message.data, message.bytes);
    const std::size_t slot = peer.sent % slots;
    const std::size_t words = words_of(message.bytes);
    std::uint64_t* const from = outboxes_[static_cast<std::size_t>(message.peer) * slots + slot].words;
    for (std::size_t i = 0; i < words; ++i) from[i] = generation(peer.sent) | parts[i];
    if (!network_.put(message.peer, reinterpret_cast<std::byte*>(from), (self_ * slots + slot) * sizeof(Slot),
                      words * sizeof *from, &message))
        return false;
    ++peer.sent;
    return true;
}

// False: the next message is not complete.
bool Inboxes::take(int rank, Arrival& arrival) {
    Peer& peer = at(rank);
    std::uint64_t* const words = inboxes_[static_cast<std::size_t>(rank) * slots + peer.taken % slots].words;
    const std::uint64_t expected = generation(peer.taken);
    Part parts[max_words];
    std::size_t count = 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t word = read(words[i]);
        parts[i] = static_cast<Part>(word);
        if (word - parts[i] != expected) return false;
        if (i == 0) count = std::min(words_of(parts[0]), max_words);
    }
    std::memcpy(&arrival, parts, count * sizeof(Part));
    ++peer.taken;
    return true;
}

}  // namespace lapwing
