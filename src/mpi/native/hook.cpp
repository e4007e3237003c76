#include "mpi/native/hook.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "links/mpi/own_communicator.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/libraries.hpp"
#include "mpi/native/native.hpp"

namespace lapwing {
namespace {

int (*progress_all)() = nullptr;  // as given to install_hook()

std::atomic<Hook> hook{Hook::none};

template <typename Function>
Function* find(const char* name) {
    return reinterpret_cast<Function*>(find_in_libraries(name));
}

// Whether the MPI's progress, in this thread, has lists to advance.
bool has_lists() {
    return request_book.lists() != 0 && !Entry::busy() && !async_progress.is_this_thread();
}

// Open MPI calls registered functions in all of its progress. They may call the MPI.
using Register = int(int (*)());

int opal_callback() {
    return has_lists() ? try_progress() : 0;
}

std::atomic<void*> worker_of_mpi{nullptr};  // of MPICH over UCX
[[maybe_unused]] bool flushed = false;

// The next preloaded library's function, or UCX's. If Python loaded the MPI, UCX is not in the scope of a
// preload library.
template <typename Function>
Function* next_in_ucx(const char* name) {
    void* const found = loaders_dlsym()(RTLD_NEXT, name);
    return found != nullptr ? reinterpret_cast<Function*>(found) : find<Function>(name);
}

bool attach_to_ucx() {
    // Its progress calls ucp_worker_progress, if this MPI is over UCX.
    for (int i = 0; i < 1000 && worker_of_mpi == nullptr; ++i) progress_mpi();
    return worker_of_mpi != nullptr;
}

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

Hook install_hook(int (*progress)(), bool threads) {
    progress_all = progress;
    const auto add = find<Register>("opal_progress_register");
    if (add != nullptr && add(opal_callback) == 0) {
        hook = Hook::callback;
    } else if (attach_to_ucx()) {
        // With threads, MPICH holds a lock during the callback.
        hook = threads ? Hook::thread : Hook::callback;
    } else {
        hook = Hook::polling;
    }
    return hook;
}

void remove_hook() {
    if (hook.exchange(Hook::none) == Hook::none) return;
    if (const auto remove = find<Register>("opal_progress_unregister")) remove(opal_callback);
}

void poll_sockets(bool always) {
    const auto change =
        find<void()>(always ? "opal_progress_event_users_increment" : "opal_progress_event_users_decrement");
    if (change != nullptr) change();
}

bool flush_native() {
#ifdef OPEN_MPI
    return false;
#else
    const auto flush = find<void*(void*, const void*)>("ucp_worker_flush_nbx");
    const auto status_of = find<std::int8_t(void*)>("ucp_request_check_status");
    const auto free = find<void(void*)>("ucp_request_free");
    if (flush == nullptr || status_of == nullptr || free == nullptr) return false;
    flushed = true;
    void* const worker = worker_of_mpi.load(std::memory_order_relaxed);
    // Nothing is sent, or progress_mpi() does nothing. All ranks must return the same.
    if (worker == nullptr || own_communicator() == MPI_COMM_NULL) return true;
    const std::array<std::uint64_t, 32> no_parameters{};  // ucp_request_param_t is shorter
    void* const request = flush(worker, no_parameters.data());
    const bool is_request = reinterpret_cast<std::intptr_t>(request) > 0;  // otherwise done, or an error
    if (!is_request) return true;
    constexpr std::int8_t in_progress = 1;
    while (status_of(request) == in_progress) progress_mpi();
    free(request);
    return true;
#endif
}

}  // namespace lapwing

#ifndef OPEN_MPI

using namespace lapwing;

// MPICH over UCX cannot register a callback, but all of its progress calls this function of libucp, which
// this library replaces.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    static const auto next = next_in_ucx<unsigned(void*)>("ucp_worker_progress");
    if (worker_of_mpi.load(std::memory_order_relaxed) == nullptr && InMpi::any()) worker_of_mpi = worker;
    const unsigned count = next(worker);
    const Hook now = hook.load(std::memory_order_acquire);
    // The program may progress a worker of its own.
    if (now == Hook::none || !has_lists() || !InMpi::any()) return count;
    if (now == Hook::callback) {
        try_progress();
    } else if (now == Hook::thread) {
        async_progress.help();
    }
    return count;
}

// MPICH 4 closes its connections in MPI_Finalize, see flush_native(). Left open, they end with UCX's worker,
// behind a barrier of MPICH's launcher.
extern "C" __attribute__((visibility("default"))) void* ucp_disconnect_nb(void* endpoint) {
    static const auto next = next_in_ucx<void*(void*)>("ucp_disconnect_nb");
    return flushed ? nullptr : next(endpoint);
}

#endif
