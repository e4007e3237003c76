#include "mpi/native/pending_messages.hpp"

#include <algorithm>
#include <cstddef>

#include "mpi/native/handle_word.hpp"

namespace lapwing {
namespace {

constexpr std::size_t places = 8;

std::size_t first_place(std::uint64_t key) {
    return (key * 0x9E3779B97F4A7C15U) >> 54;
}

}  // namespace

PendingMessages& pending_messages = *new PendingMessages;

bool PendingMessages::HandleSet::insert(MPI_Request handle, std::uint64_t bytes) {
    if (bytes_of(handle) > 0) return false;
    const std::uint64_t key = word_of(handle);
    for (std::size_t i = 0; i < places; ++i) {
        Slot& slot = slots_[(first_place(key) + i) % slots_.size()];
        std::uint64_t free = 0;
        if (!slot.handle.compare_exchange_strong(free, key)) continue;
        slot.bytes.store(bytes, std::memory_order_relaxed);
        return true;
    }
    return false;
}

std::uint64_t PendingMessages::HandleSet::erase(MPI_Request handle) {
    const std::uint64_t key = word_of(handle);
    for (std::size_t i = 0; i < places; ++i) {
        Slot& slot = slots_[(first_place(key) + i) % slots_.size()];
        std::uint64_t mine = key;
        const std::uint64_t bytes = slot.bytes.load(std::memory_order_relaxed);
        if (slot.handle.load(std::memory_order_relaxed) != key ||
            !slot.handle.compare_exchange_strong(mine, 0))
            continue;
        return std::max<std::uint64_t>(bytes, 1);
    }
    return 0;
}

std::uint64_t PendingMessages::HandleSet::bytes_of(MPI_Request handle) const {
    const std::uint64_t key = word_of(handle);
    for (std::size_t i = 0; i < places; ++i) {
        const Slot& slot = slots_[(first_place(key) + i) % slots_.size()];
        if (slot.handle.load(std::memory_order_relaxed) == key)
            return slot.bytes.load(std::memory_order_relaxed);
    }
    return 0;
}

}  // namespace lapwing
