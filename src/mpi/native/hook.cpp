#include "mpi/native/hook.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <atomic>

#include "mpi/native/async_progress.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/native.hpp"

namespace lapwing {
namespace {

// As given to install_hook().
int (*progress_all)() = nullptr;
const Count* in_flight = nullptr;

std::atomic<Hook> hook{Hook::none};

// Open MPI calls registered functions in all of its progress. They may call the MPI.
using Register = int (*)(int (*)());

int opal_callback() {
    if (*in_flight == 0 || Entry::busy() || async_progress.is_this_thread()) return 0;
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

int try_progress() {
    if (!Entry::try_enter()) return 0;
    // No exception may pass through the MPI.
    const int completed = guarded(progress_all);
    Entry::leave();
    return completed;
}

bool offers_a_hook() {
    return find_in_libraries("opal_progress_register") != nullptr ||
           find_in_libraries("ucp_worker_progress") != nullptr;
}

Hook install_hook(int (*progress)(), const Count& requests, bool threads) {
    progress_all = progress;
    in_flight = &requests;
    if (attach_to_opal()) {
        hook = Hook::callback;
    } else if (attach_to_ucx()) {
        // With threads, MPICH holds a lock during the callback.
        hook = threads ? Hook::thread : Hook::callback;
    } else if (threads) {
        hook = Hook::polling;
    }
    return hook;
}

void remove_hook() {
    if (hook.exchange(Hook::none) != Hook::none) detach_from_opal();
}

void native_progress() {
#ifndef OPEN_MPI
    called.store(true, std::memory_order_relaxed);
#endif
    const Hook now = hook.load(std::memory_order_acquire);
    if (now == Hook::none || *in_flight == 0 || Entry::busy() || async_progress.is_this_thread()) return;
    if (now == Hook::callback) {
        try_progress();
    } else if (now == Hook::thread) {
        async_progress.help();
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
