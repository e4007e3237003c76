// Maps the program's handles to requests.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "mpi/requests/request.hpp"

namespace lapwing {

// Uses open addressing because every wait of the program makes a look-up.
class HandleTable {
  public:
    Request* find(MPI_Request handle) const {
        for (std::size_t at = hash(handle);; ++at) {
            const Slot& slot = slots_[at & (slots_.size() - 1)];
            if (slot.request == nullptr) return nullptr;
            if (slot.handle == handle) return slot.request;
        }
    }
    void insert(MPI_Request handle, Request* request) {
        if (2 * ++used_ > slots_.size()) grow();
        place({handle, request});
    }
    void erase(MPI_Request handle) {
        std::size_t at = hash(handle);
        while (slots_[at & (slots_.size() - 1)].handle != handle) ++at;
        slots_[at & (slots_.size() - 1)] = {};
        --used_;
        // Entries that were moved on because this slot was taken move back.
        for (++at; slots_[at & (slots_.size() - 1)].request != nullptr; ++at)
            place(std::exchange(slots_[at & (slots_.size() - 1)], {}));
    }

  private:
    struct Slot {
        MPI_Request handle{};
        Request* request = nullptr;
    };
    static std::size_t hash(MPI_Request handle) {
        std::uintptr_t bits = 0;
        std::memcpy(&bits, &handle, sizeof handle);
        return (bits * 0x9e3779b97f4a7c15U) >> 40;
    }
    void place(const Slot& entry) {
        std::size_t at = hash(entry.handle);
        while (slots_[at & (slots_.size() - 1)].request != nullptr) ++at;
        slots_[at & (slots_.size() - 1)] = entry;
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.request != nullptr) place(slot);
        }
    }
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t used_ = 0;
};

}  // namespace lapwing
