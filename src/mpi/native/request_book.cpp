#include "mpi/native/request_book.hpp"

#include <utility>

namespace lapwing {

NeverDestroyed<RequestBook> never_destroyed_book;

void RequestBook::insert(std::uint64_t handle, WatchedRequest& request) {
    if (WatchedRequest* const former = find(handle)) erase(handle, *former);
    if (2 * ++used_ > slots_.size()) {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.request != nullptr) place(slot);
        }
    }
    place({handle, &request});
    persistent_.add(request.is_persistent ? 1 : 0);
}

void RequestBook::erase(std::uint64_t handle, WatchedRequest& request) {
    std::size_t at = position(handle);
    if (slots_[at].request != &request) return;
    slots_[at] = {};
    --used_;
    persistent_.add(request.is_persistent ? -1 : 0);
    // Entries that were moved on because this slot was taken move back.
    while (slots_[at = (at + 1) & (slots_.size() - 1)].request != nullptr)
        place(std::exchange(slots_[at], {}));
}

}  // namespace lapwing
