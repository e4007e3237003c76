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
int (*progress_all)() = nullptr;
const Count* in_flight = nullptr;

int try_progress() {
    if (!Entry::try_enter()) return 0;
    // No exception may pass through the MPI.
    const int completed = guarded(progress_all);
    Entry::leave();
    return completed;
}

// How the lists progress while the program is inside the MPI.
enum class Hook {
    none,
    callback,     // the MPI calls Lapwing, which may call the MPI
    hook_thread,  // the MPI calls Lapwing, which must not call the MPI: it wakes the hook thread
    polling,      // the MPI has no callback: the hook thread polls
};
std::atomic<Hook> hook{Hook::none};
// Whether the hook thread polls while collectives are in flight.
std::atomic<bool> polling{false};

// Advances lists in the program's place. Sleeps unless the program waits in the MPI with collectives in
// flight, or polling is on and collectives are in flight.
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
            // Stays awake while the MPI asks for progress at least once per pause.
            calls_.wait(seen);
            if (ending_) return;
            seen = calls_;
            try_progress();
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            while (polling && !ending_ && *in_flight > 0) {
                try_progress();
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        }
    }

    std::thread thread_;
    std::atomic<bool> ending_{false};
    std::atomic<std::uint64_t> calls_{0};
};
HookThread& hook_thread = *new HookThread;  // never destroyed, see request_table.hpp

// Open MPI calls registered functions in all of its progress. They may call the MPI.
using Register = int (*)(int (*)());

int opal_callback() {
    if (*in_flight == 0 || Entry::busy()) return 0;
    return try_progress();
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

std::atomic<bool> called{false};

bool attach_to_ucx() {
    // A test of an incomplete request calls ucp_worker_progress, if this MPI is over UCX.
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Grequest_start([](void*, MPI_Status*) -> int { return MPI_SUCCESS; },
                        [](void*) -> int { return MPI_SUCCESS; },
                        [](void*, int) -> int { return MPI_SUCCESS; }, nullptr, &request);
    for (int i = 0; i < 1000 && !called; ++i) {
        int complete = 0;
        PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    }
    PMPI_Grequest_complete(request);
    PMPI_Request_free(&request);
    return called;
}

#endif

}  // namespace

bool offers_a_hook() {
    return find_in_libraries("opal_progress_register") != nullptr ||
           find_in_libraries("ucp_worker_progress") != nullptr;
}

bool install_hook(int (*progress)(), const Count& requests, bool threads, bool polls) {
    progress_all = progress;
    in_flight = &requests;
    if (attach_to_opal()) {
        hook = Hook::callback;
    } else if (attach_to_ucx()) {
        // With threads, MPICH holds a lock during the callback.
        hook = threads ? Hook::hook_thread : Hook::callback;
    } else if (threads) {
        hook = Hook::polling;
    }
    polling = hook == Hook::polling || (polls && threads && hook != Hook::none);
    if (hook == Hook::hook_thread || polling) hook_thread.start();
    return hook != Hook::none;
}

void remove_hook() {
    if (hook.exchange(Hook::none) == Hook::none) return;
    detach_from_opal();
    polling = false;
    hook_thread.stop();
}

void collective_started() {
    if (polling.load(std::memory_order_relaxed)) hook_thread.wake();
}

void native_progress() {
#ifndef OPEN_MPI
    called.store(true, std::memory_order_relaxed);
#endif
    const Hook now = hook.load(std::memory_order_acquire);
    if (now == Hook::none || *in_flight == 0 || Entry::busy()) return;
    if (now == Hook::callback) {
        try_progress();
    } else if (now == Hook::hook_thread) {
        hook_thread.wake();
    }
}

}  // namespace lapwing

#ifndef OPEN_MPI

// MPICH over UCX cannot register a callback, but all of its progress calls this function of libucp, which
// this library replaces.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = [] {
        // The next preloaded library, or UCX. If Python loaded the MPI, UCX is not in the scope of a preload
        // library.
        void* const found = dlsym(RTLD_NEXT, "ucp_worker_progress");
        return reinterpret_cast<Progress>(
            found != nullptr ? found : lapwing::find_in_libraries("ucp_worker_progress"));
    }();
    const unsigned count = next(worker);
    lapwing::native_progress();
    return count;
}

#endif
