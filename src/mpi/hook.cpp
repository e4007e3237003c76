#include "mpi/hook.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "mpi/guard.hpp"
#include "mpi/request.hpp"
#include "mpi/runtime.hpp"

namespace lapwing {
namespace {

// Whether the MPI may be called from inside its own progress. Open MPI lets its components do so; MPICH holds
// a lock there when threads share it.
bool reentrant = true;
std::atomic<bool> installed{false};

int move_all() {
    if (!Entry::try_enter()) return 0;
    // No exception may pass through the MPI.
    const int completed = guarded([] {
        const int moved = progress();
        // Somebody may wait for one of them inside the MPI.
        give_complete_to_mpi();
        return moved;
    });
    Entry::leave();
    return completed;
}

// Moves lists in the program's place while that is inside an MPI that must not be entered again. Sleeps
// otherwise: it wakes when the program waits in the MPI with collectives in flight.
class Deputy {
  public:
    void start() { thread_ = std::thread(&Deputy::work, this); }
    void stop() {
        if (!thread_.joinable()) return;
        ending_ = true;
        wake();
        thread_.join();
        ending_ = false;
    }
    void wake() {
        calls_.fetch_add(1, std::memory_order_relaxed);
        if (asleep_.load(std::memory_order_acquire) && asleep_.exchange(false)) sleep_.release();
    }

  private:
    void work() {
        while (!ending_) {
            asleep_ = true;
            sleep_.acquire();
            // As long as the MPI keeps asking for progress, which it does at least once in this time.
            for (std::uint64_t seen = 0; !ending_ && seen != calls_;) {
                seen = calls_;
                move_all();
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            }
        }
    }

    std::thread thread_;
    std::binary_semaphore sleep_{0};
    std::atomic<bool> asleep_{false};
    std::atomic<bool> ending_{false};
    std::atomic<std::uint64_t> calls_{0};
};
Deputy& deputy = *new Deputy;  // never destroyed, see request.cpp

#ifdef OPEN_MPI

using Register = int (*)(int (*)());

int opal_callback() {
    if (live_requests.load(std::memory_order_relaxed) == 0 || Entry::busy()) return 0;
    return move_all();
}

bool attach() {
    const auto add = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
    return add != nullptr && add(opal_callback) == 0;
}

void detach() {
    const auto remove = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "opal_progress_unregister"));
    if (remove != nullptr) remove(opal_callback);
}

#else

std::atomic<bool> seen{false};

bool attach() {
    reentrant = !runtime.threads;
    // Any look at a request that is not complete passes through the function below, if at all.
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; }, [](void*) { return MPI_SUCCESS; },
                        [](void*, int) { return MPI_SUCCESS; }, nullptr, &request);
    for (int i = 0; i < 1000 && !seen; ++i) {
        int complete = 0;
        PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    }
    PMPI_Grequest_complete(request);
    PMPI_Request_free(&request);
    return seen;
}

void detach() {}

#endif

}  // namespace

bool install_hook() {
    if (!attach()) return false;
    if (!reentrant) deputy.start();
    installed = true;
    return true;
}

void remove_hook() {
    if (!installed.exchange(false)) return;
    detach();
    deputy.stop();
}

void native_progress() {
#ifndef OPEN_MPI
    seen.store(true, std::memory_order_relaxed);
#endif
    if (live_requests.load(std::memory_order_relaxed) == 0 || Entry::busy() || !installed) return;
    if (reentrant) {
        move_all();
    } else {
        deputy.wake();
    }
}

}  // namespace lapwing

#ifndef OPEN_MPI

// MPICH over UCX has no place to register a callback, but all of its progress passes through this function of
// libucp, which this library stands in front of.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    const unsigned count = next(worker);
    lapwing::native_progress();
    return count;
}

#endif
