#include "mpi/native/gate.hpp"

#include <linux/membarrier.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::gate {
namespace {

int membarrier(int command) {
    return static_cast<int>(::syscall(SYS_membarrier, command, 0, 0));
}

// Used by the program's thread in MPI_Init, and then by Lapwing's.
bool registered = false;

void register_process() {
    registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

void register_single_thread() {
    // The directory's links: itself, its parent, and each thread.
    struct stat threads {};
    if (::stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3) register_process();
}

bool can_close() {
    const int commands = membarrier(MEMBARRIER_CMD_QUERY);
    return commands > 0 && (commands & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
}

bool try_close() {
    // A closed gate stops the program's threads, and membarrier(2) interrupts them.
    if (someone_is_inside<Process>()) return false;
    if (!registered) register_process();
    return registered && close<Process>();
}

void Process::full_barrier() {
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool is_wanted() {
    return (attention.load(std::memory_order_relaxed) & wanted) != 0;
}

void open() {
    open<Process>();
}

}  // namespace lapwing::gate
