// Maps the program's handles to requests.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
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
    void insert(Request* request) {
        if (2 * ++used_ > slots_.size()) grow();
        place(request);
    }
    void erase(const Request* request) {
        std::size_t at = hash(request->handle);
        while (slots_[at & (slots_.size() - 1)].request != request) ++at;
        slots_[at & (slots_.size() - 1)] = {};
        --used_;
        // Entries that were moved on because this slot was taken move back.
        for (++at; slots_[at & (slots_.size() - 1)].request != nullptr; ++at) {
            Request* moved = slots_[at & (slots_.size() - 1)].request;
            slots_[at & (slots_.size() - 1)] = {};
            place(moved);
        }
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
    void place(Request* request) {
        std::size_t at = hash(request->handle);
        while (slots_[at & (slots_.size() - 1)].request != nullptr) ++at;
        slots_[at & (slots_.size() - 1)] = {request->handle, request};
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.request != nullptr) place(slot.request);
        }
    }
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t used_ = 0;
};

}  // namespace lapwing
