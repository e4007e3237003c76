#include "mpi/native/hook.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/native.hpp"

namespace lapwing {
namespace {

// As given to install_hook().
int (*move_all)() = nullptr;
const Count* in_flight = nullptr;

int try_to_move_all() {
    if (!Entry::try_enter()) return 0;
    // No exception may pass through the MPI.
    const int completed = guarded(move_all);
    Entry::leave();
    return completed;
}

// How the lists move while the program is inside the MPI.
enum class Way {
    none,
    callback,     // the MPI calls Lapwing, and may be called from there
    hook_thread,  // the MPI calls Lapwing, which must not call it back: the hook thread does
    polling,      // the MPI has no callback: the hook thread looks every now and then
};
std::atomic<Way> way{Way::none};
// Whether the hook thread looks every now and then.
std::atomic<bool> looks{false};

// A thread that moves lists in the program's place. Sleeps unless the program waits in the MPI with
// collectives in flight or, when polling, has any in flight.
class HookThread {
  public:
    void start() {
        thread_ = std::thread(&HookThread::work, this);
        ::pthread_setname_np(thread_.native_handle(), "lapwing");
    }
    void stop() {
        if (!thread_.joinable()) return;
        ending_ = true;
        wake();
        thread_.join();
        ending_ = false;
    }
    void wake() {
        calls_.fetch_add(1);
        calls_.notify_one();
    }

  private:
    void work() {
        std::uint64_t seen = 0;
        for (;;) {
            // Not asleep as long as the MPI keeps asking for progress, which it does at least once in the
            // pause.
            calls_.wait(seen);
            if (ending_) return;
            seen = calls_;
            try_to_move_all();
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            while (looks && !ending_ && *in_flight > 0) {
                try_to_move_all();
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        }
    }

    std::thread thread_;
    std::atomic<bool> ending_{false};
    std::atomic<std::uint64_t> calls_{0};
};
HookThread& hook_thread = *new HookThread;  // never destroyed, see in_flight.cpp

// Open MPI calls what is registered here in all of its progress, and lets it call the MPI.
using Register = int (*)(int (*)());

int opal_callback() {
    if (*in_flight == 0 || Entry::busy()) return 0;
    return try_to_move_all();
}

bool attach_to_opal() {
    const auto add = reinterpret_cast<Register>(find_in_libraries("opal_progress_register"));
    return add != nullptr && add(opal_callback) == 0;
}

void detach_from_opal() {
    const auto remove = reinterpret_cast<Register>(find_in_libraries("opal_progress_unregister"));
    if (remove != nullptr) remove(opal_callback);
}

#ifdef OPEN_MPI

bool attach_to_ucx() {
    return false;
}

#else

std::atomic<bool> seen{false};

bool attach_to_ucx() {
    // Any look at a request that is not complete passes through the function below, if at all.
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Grequest_start([](void*, MPI_Status*) -> int { return MPI_SUCCESS; },
                        [](void*) -> int { return MPI_SUCCESS; },
                        [](void*, int) -> int { return MPI_SUCCESS; }, nullptr, &request);
    for (int i = 0; i < 1000 && !seen; ++i) {
        int complete = 0;
        PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    }
    PMPI_Grequest_complete(request);
    PMPI_Request_free(&request);
    return seen;
}

#endif

}  // namespace

bool offers_a_hook() {
    return find_in_libraries("opal_progress_register") != nullptr ||
           find_in_libraries("ucp_worker_progress") != nullptr;
}

bool install_hook(int (*progress)(), const Count& requests, bool threads, bool polls) {
    move_all = progress;
    in_flight = &requests;
    if (attach_to_opal()) {
        way = Way::callback;
    } else if (attach_to_ucx()) {
        // MPICH holds a lock there when threads share it.
        way = threads ? Way::hook_thread : Way::callback;
    } else if (threads) {
        way = Way::polling;
    }
    looks = way == Way::polling || (polls && threads && way != Way::none);
    if (way == Way::hook_thread || looks) hook_thread.start();
    return way != Way::none;
}

void remove_hook() {
    if (way.exchange(Way::none) == Way::none) return;
    detach_from_opal();
    looks = false;
    hook_thread.stop();
}

void collective_started() {
    if (looks.load(std::memory_order_relaxed)) hook_thread.wake();
}

void native_progress() {
#ifndef OPEN_MPI
    seen.store(true, std::memory_order_relaxed);
#endif
    const Way now = way.load(std::memory_order_acquire);
    if (now == Way::none || *in_flight == 0 || Entry::busy()) return;
    if (now == Way::callback) {
        try_to_move_all();
    } else if (now == Way::hook_thread) {
        hook_thread.wake();
    }
}

}  // namespace lapwing

#ifndef OPEN_MPI

// MPICH over UCX has no place to register a callback, but all of its progress passes through this function of
// libucp, which this library stands in front of.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = [] {
        // What else is preloaded; or UCX, which is not in the scope of a preload library when MPI was loaded
        // by Python.
        void* const found = dlsym(RTLD_NEXT, "ucp_worker_progress");
        return reinterpret_cast<Progress>(
            found != nullptr ? found : lapwing::find_in_libraries("ucp_worker_progress"));
    }();
    const unsigned count = next(worker);
    lapwing::native_progress();
    return count;
}

#endif
