#include "mpi/native/handle_set.hpp"

#include <algorithm>

namespace lapwing {

std::optional<HandleSet::Entry> HandleSet::insert(std::uint64_t handle, std::uint64_t bytes) {
    const Entry before = find(handle);
    for (std::size_t i = 0; i < places; ++i) {
        Slot& one = slot(handle, i);
        Entry free = 0;
        if (!one.entry.compare_exchange_strong(free, busy)) continue;
        const std::uint64_t number = numbers_.fetch_add(1, std::memory_order_relaxed);
        one.handle.store(handle, std::memory_order_release);
        one.entry.store(number << 44 | std::min(bytes, max_bytes - 1), std::memory_order_release);
        return erase(handle, before) ? before : 0;
    }
    return std::nullopt;
}

HandleSet::Entry HandleSet::find(std::uint64_t handle) const {
    for (std::size_t i = 0; i < places; ++i) {
        const Slot& one = const_cast<HandleSet*>(this)->slot(handle, i);
        const Entry entry = one.entry.load(std::memory_order_acquire);
        // Still the same entry: the handle is that entry's.
        if (entry != 0 && entry != busy && one.handle.load(std::memory_order_acquire) == handle &&
            one.entry.load(std::memory_order_relaxed) == entry)
            return entry;
    }
    return 0;
}

bool HandleSet::erase(std::uint64_t handle, Entry entry) {
    for (std::size_t i = 0; i < places && entry != 0; ++i) {
        Entry expected = entry;
        if (slot(handle, i).entry.compare_exchange_strong(expected, 0)) return true;
    }
    return false;
}

}  // namespace lapwing
