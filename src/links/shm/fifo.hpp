// The two ends of a FIFO: one rank writes, one reads. Neither ever waits for the other.
//
// Every slot carries the number of its message, so a reader finds the next message by looking at one word,
// which is in the same cache line as a short message: one line travels between the processors (as in the
// FastForward queue, Giacomoni et al. 2008, and in MPICH's fast boxes, Buntinas et al. 2006). Nothing is
// written back but, in a line of its own, how far the reader has come; the writer looks there only when it
// finds the FIFO full.
#pragma once

#include <cstring>

#include "links/shm/layout.hpp"

namespace lapwing::shm {

template <typename Platform>
class FifoWriter {
  public:
    FifoWriter() = default;
    explicit FifoWriter(const Fifo<Platform>& fifo) : fifo_(fifo) {}

    // A message of up to geometry.max_whole() bytes. False: there is no room.
    bool eager(std::uint64_t group, std::uint32_t channel, const std::byte* data, std::uint64_t bytes) {
        if (bytes <= Slot<Platform>::inside_bytes) {
            if (!slot_is_free()) return false;
            if (bytes > 0) std::memcpy(slot().inside, data, bytes);
            publish(Kind::eager, bytes, group, channel);
            return true;
        }
        return in_payload(Kind::eager, {}, group, channel, data, bytes);
    }

    // Announces bytes that stay where they are. The ticket; -1: there is no room.
    int offer(std::uint64_t group, std::uint32_t channel, const std::byte* data, std::uint64_t bytes) {
        if (!slot_is_free()) return -1;
        for (std::uint32_t ticket = 0; ticket < fifo_.geometry.tickets; ++ticket) {
            auto& state = fifo_.tickets[ticket].state;
            const std::uint32_t found = state.load(std::memory_order_acquire);
            if (found != Ticket<Platform>::free &&
                !(found == Ticket<Platform>::closed && (held_ >> ticket & 1) == 0))
                continue;
            held_ |= 1U << ticket;
            fifo_.tickets[ticket].claimed.store(0, std::memory_order_relaxed);
            fifo_.tickets[ticket].copied.store(0, std::memory_order_relaxed);
            state.store(Ticket<Platform>::offered, std::memory_order_relaxed);
            const Elsewhere where{reinterpret_cast<std::uintptr_t>(data), bytes, ticket};
            std::memcpy(slot().inside, &where, sizeof where);
            publish(Kind::offer, 0, group, channel);
            return static_cast<int>(ticket);
        }
        return -1;
    }
    // Bytes of an offered message, of which so many stand `before` them. False: there is no room.
    bool piece(int ticket, std::uint64_t before, const std::byte* data, std::uint64_t bytes) {
        return in_payload(Kind::piece, {0, before, static_cast<std::uint32_t>(ticket)}, 0, 0, data, bytes);
    }
    // For a piece of so many bytes.
    bool has_room(std::uint64_t bytes) {
        return slot_is_free() && payload_is_free(place_of(bytes) + whole_lines(bytes));
    }

    Ticket<Platform>& ticket(int number) { return fifo_.tickets[number]; }
    // The sender needs it no more; it is used again when the receiver has closed it.
    void let_go(int ticket) { held_ &= ~(1U << ticket); }

  private:
    Slot<Platform>& slot() { return fifo_.slots[written_ & (fifo_.geometry.slots - 1)]; }
    bool slot_is_free() {
        if (written_ - slots_read_ < fifo_.geometry.slots) return true;
        slots_read_ = fifo_.consumed->slots.load(std::memory_order_acquire);
        return written_ - slots_read_ < fifo_.geometry.slots;
    }
    // Whether the payload up to `end` may be written.
    bool payload_is_free(std::uint64_t end) {
        if (end - payload_read_ <= fifo_.geometry.payload) return true;
        payload_read_ = fifo_.consumed->payload.load(std::memory_order_acquire);
        return end - payload_read_ <= fifo_.geometry.payload;
    }
    static std::uint64_t whole_lines(std::uint64_t bytes) {
        return (bytes + cache_line - 1) / cache_line * cache_line;
    }
    // Where so many bytes stand in the payload. In one piece: what is left at the end is passed over.
    std::uint64_t place_of(std::uint64_t bytes) const {
        const std::uint64_t size = fifo_.geometry.payload;
        const bool fits = payload_written_ % size + whole_lines(bytes) <= size;
        return fits ? payload_written_ : (payload_written_ / size + 1) * size;
    }
    bool in_payload(Kind kind, Elsewhere where, std::uint64_t group, std::uint32_t channel,
                    const std::byte* data, std::uint64_t bytes) {
        if (!has_room(bytes)) return false;
        where.at = place_of(bytes);
        std::byte* const target = fifo_.payload + where.at % fifo_.geometry.payload;
        std::memcpy(target, data, bytes);
        Platform::writes(target, bytes);
        payload_written_ = where.at + whole_lines(bytes);
        std::memcpy(slot().inside, &where, sizeof where);
        publish(kind, bytes, group, channel);
        return true;
    }
    void publish(Kind kind, std::uint64_t bytes, std::uint64_t group, std::uint32_t channel) {
        Slot<Platform>& at = slot();
        at.group = group;
        at.channel = channel;
        at.form = static_cast<std::uint32_t>(kind) << 28 | static_cast<std::uint32_t>(bytes);
        Platform::writes(&at, sizeof at);
        at.number.store(++written_, std::memory_order_release);
    }

    Fifo<Platform> fifo_;
    std::uint64_t written_ = 0;          // messages
    std::uint64_t payload_written_ = 0;  // bytes
    std::uint64_t slots_read_ = 0;       // as far as is known
    std::uint64_t payload_read_ = 0;
    std::uint32_t held_ = 0;  // tickets that the sender needs, as bits
};

template <typename Platform>
class FifoReader {
  public:
    FifoReader() = default;
    explicit FifoReader(const Fifo<Platform>& fifo) : fifo_(fifo) {}

    // The next message; null: there is none yet. It stays until consume().
    const Slot<Platform>* next() const {
        const Slot<Platform>& slot = fifo_.slots[read_ & (fifo_.geometry.slots - 1)];
        if (slot.number.load(std::memory_order_acquire) != read_ + 1) return nullptr;
        Platform::reads(&slot, sizeof slot);
        return &slot;
    }
    void consume() {
        const Slot<Platform>& slot = fifo_.slots[read_ & (fifo_.geometry.slots - 1)];
        Platform::reads(&slot, sizeof slot);
        if (in_payload(slot)) {
            Platform::reads(data(slot), bytes(slot));
            const std::uint64_t length = (bytes(slot) + cache_line - 1) / cache_line * cache_line;
            fifo_.consumed->payload.store(elsewhere(slot).at + length, std::memory_order_release);
        }
        fifo_.consumed->slots.store(++read_, std::memory_order_release);
    }

    static Kind kind(const Slot<Platform>& slot) { return static_cast<Kind>(slot.form >> 28); }
    // That came with it: of the message, or of the piece.
    static std::uint64_t bytes(const Slot<Platform>& slot) { return slot.form & 0xfffffff; }
    const std::byte* data(const Slot<Platform>& slot) const {
        return in_payload(slot) ? fifo_.payload + elsewhere(slot).at % fifo_.geometry.payload : slot.inside;
    }
    static Elsewhere elsewhere(const Slot<Platform>& slot) {
        Elsewhere where;
        std::memcpy(&where, slot.inside, sizeof where);
        return where;
    }
    Ticket<Platform>& ticket(std::uint32_t number) { return fifo_.tickets[number]; }

  private:
    static bool in_payload(const Slot<Platform>& slot) {
        return kind(slot) == Kind::piece || bytes(slot) > Slot<Platform>::inside_bytes;
    }

    Fifo<Platform> fifo_;
    std::uint64_t read_ = 0;  // messages
};

}  // namespace lapwing::shm
