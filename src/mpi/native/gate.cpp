#include "mpi/native/gate.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::gate {
namespace {

// Called by Lapwing's thread, which is inside all the time.
bool someone_is_inside() {
    const watch::ThreadRecord* const own = &watch::Journal::of_thread();
    const watch::ThreadRecord* thread = watch::thread_records.load(std::memory_order_acquire);
    for (; thread != nullptr; thread = thread->next.load(std::memory_order_acquire)) {
        if (thread != own && thread->used.load(std::memory_order_acquire) != 0 && thread->is_inside_mpi())
            return true;
    }
    return false;
}

int membarrier(int command) {
    return static_cast<int>(::syscall(SYS_membarrier, command, 0, 0));
}

}  // namespace

bool can_close() {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

bool try_close(bool excludes) {
    // A closed gate stops the program's threads, and membarrier(2) interrupts them.
    if (someone_is_inside()) return false;
    if (!excludes) return true;
    attention.fetch_or(closed);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (!someone_is_inside()) return true;
    open();
    return false;
}

bool is_wanted() {
    return (attention.load(std::memory_order_relaxed) & wanted) != 0;
}

void open() {
    attention.fetch_and(~(closed | wanted), std::memory_order_release);
}

}  // namespace lapwing::gate
