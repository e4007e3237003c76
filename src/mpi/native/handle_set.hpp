// Handles of requests, with the bytes of each. By any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lapwing {

// An MPI gives a handle again when its request is complete, perhaps before the thread that has completed it
// erases it here. Each request therefore has an entry of its own. A handle has a few places, and is left out
// if they are taken.
class HandleSet {
  public:
    using Entry = std::uint64_t;  // 0: none
    static std::uint64_t bytes_of(Entry entry) { return entry & max_bytes; }

    // `bytes`: not 0. Returns the entry that the handle had, whose request is complete and which is erased;
    // nothing without a place.
    std::optional<Entry> insert(std::uint64_t handle, std::uint64_t bytes);
    Entry find(std::uint64_t handle) const;
    // Returns whether the handle had this entry.
    bool erase(std::uint64_t handle, Entry entry);

  private:
    static constexpr std::uint64_t max_bytes = (std::uint64_t{1} << 44) - 1;
    static constexpr Entry busy = ~Entry{0};
    static constexpr std::size_t places = 8;
    struct Slot {
        // Bytes, and above them a number, so that no two entries are equal for long; 0: the slot is free.
        std::atomic<Entry> entry{0};
        std::atomic<std::uint64_t> handle{0};  // changes while the entry is `busy`
    };
    Slot& slot(std::uint64_t handle, std::size_t place) {
        return slots_[((handle * 0x9E3779B97F4A7C15U >> 54) + place) % slots_.size()];
    }

    std::array<Slot, 1024> slots_{};
    std::atomic<std::uint64_t> numbers_{0};
};

}  // namespace lapwing
