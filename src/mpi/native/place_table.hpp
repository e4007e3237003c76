// What is learned about places in the program.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing {

// Entries by key, without locks. None is ever removed: a key that finds its slots taken shares the first.
template <typename Entry>
class PlaceTable {
  public:
    // `key`: not 0.
    Entry& find(std::uintptr_t key) {
        const std::size_t first = (key * 0x9E3779B97F4A7C15U) >> (64 - bits);
        for (std::size_t i = 0; i < probes; ++i) {
            Slot& slot = slots_[(first + i) % slots_.size()];
            std::uintptr_t known = slot.key.load(std::memory_order_relaxed);
            if (known == key || (known == 0 && slot.key.compare_exchange_strong(known, key)) || known == key)
                return slot.entry;
        }
        return slots_[first].entry;
    }

  private:
    static constexpr int bits = 9;
    static constexpr std::size_t probes = 8;
    struct Slot {
        std::atomic<std::uintptr_t> key{0};  // 0: free
        Entry entry;
    };
    std::array<Slot, std::size_t{1} << bits> slots_;
};

}  // namespace lapwing
