#include "mpi/first_touch/guards.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/clock.hpp"
#include "mpi/first_touch/kernel.hpp"
#include "mpi/first_touch/signals.hpp"
#include "mpi/first_touch/writes.hpp"

namespace lapwing::first_touch {
namespace {

enum State : int { unused, guarded, lifting, lifted };

struct Slot {
    std::atomic<int> state{unused};
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    Touch touch;
};

std::array<Slot, max_guards> slots;
std::atomic<int> active{0};
std::mutex mutex;  // of guard() and lift(); never taken in the signal handler

// Not by the functions mprotect() and syscall(), which lift guards.
bool protect(std::uintptr_t begin, std::uintptr_t end, int protection) {
    return native_syscall(SYS_mprotect, begin, end - begin, protection) == 0;
}

// By any thread, also in the signal handler. Returns when the pages are accessible.
void lift_slot(Slot& slot, Access access) {
    int expected = guarded;
    if (!slot.state.compare_exchange_strong(expected, lifting)) {
        while (slot.state.load() == lifting) {
        }
        return;
    }
    slot.touch.ended = nanoseconds();
    slot.touch.access = access;
    const std::uintptr_t begin = slot.begin.load();
    protect(begin, slot.end.load(), PROT_READ | PROT_WRITE);
    slot.state.store(lifted);
    active.fetch_sub(1);
}

Refusal guard(void* address, std::size_t bytes, std::uint64_t tag) {
    const auto [begin, end] = whole_pages(address, bytes);
    const std::lock_guard lock(mutex);
    if (const Refusal refusal = pages_refuse(begin, end); refusal != Refusal::none) return refusal;
    Slot* free = nullptr;
    for (Slot& slot : slots) {
        const int state = slot.state.load();
        if (state == unused && free == nullptr) free = &slot;
        if (state != unused && begin < slot.end.load() && slot.begin.load() < end) return Refusal::many;
    }
    if (free == nullptr) return Refusal::many;
    install_handler();
    free->begin.store(begin);
    free->end.store(end);
    free->touch = {tag, 0, 0, end - begin, Access::none};
    free->state.store(guarded);
    active.fetch_add(1);
    free->touch.began = nanoseconds();
    if (protect(begin, end, PROT_NONE)) return Refusal::none;
    lift_slot(*free, Access::none);
    free->state.store(unused);
    return Refusal::system;
}

std::size_t lift(Touch* touches, std::size_t capacity) {
    const std::lock_guard lock(mutex);
    std::size_t count = 0;
    for (Slot& slot : slots) {
        if (slot.state.load() == unused) continue;
        lift_slot(slot, Access::none);
        if (count < capacity) touches[count++] = slot.touch;
        slot.state.store(unused);
    }
    return count;
}

// A child has the guards of its parent, and nobody who reads what they find.
void lift_in_child() {
    for (Slot& slot : slots) {
        if (slot.state.load() == guarded) lift_slot(slot, Access::none);
    }
}

__attribute__((constructor)) void prepare_for_fork() {
    ::pthread_atfork(nullptr, nullptr, lift_in_child);
}

}  // namespace

bool handle_fault(std::uintptr_t address, bool writes) {
    for (Slot& slot : slots) {
        if (address < slot.begin.load() || address >= slot.end.load()) continue;
        if (slot.state.load() == unused) continue;
        lift_slot(slot, writes ? Access::write : Access::read);
        return true;
    }
    return false;
}

bool was_guarded(std::uintptr_t address) {
    for (const Slot& slot : slots) {
        if (address >= slot.begin.load() && address < slot.end.load()) return true;
    }
    return false;
}

bool any() {
    return active.load(std::memory_order_relaxed) > 0;
}

void lift_in(const void* address, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    for (Slot& slot : slots) {
        if (slot.state.load() == guarded && begin < slot.end.load() && slot.begin.load() < begin + bytes)
            lift_slot(slot, Access::call);
    }
}

}  // namespace lapwing::first_touch

extern "C" __attribute__((visibility("default"))) const lapwing::first_touch::Functions lapwing_first_touch;
const lapwing::first_touch::Functions lapwing_first_touch = {
    lapwing::first_touch::guard, lapwing::first_touch::lift, lapwing::first_touch::watch,
    lapwing::first_touch::find_last_write};
