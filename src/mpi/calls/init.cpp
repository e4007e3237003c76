// The first call and the last one.
#include "mpi/calls/init.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/clock.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/job/start.hpp"
#include "mpi/native/callers.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/hook.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {
namespace {

std::mutex start_mutex;

// Nothing in MPI_Finalize waits longer for what another rank may never do.
constexpr std::uint64_t patience = 5'000'000'000;

void finish_groups(std::uint64_t limit) {
    const std::uint64_t end = nanoseconds() + limit;
    int unfinished = 0;
    free_all_communicators([&](Communicator& group) {
        const std::uint64_t now = nanoseconds();
        if (!finish_group(group, end > now ? end - now : 0)) ++unfinished;
    });
    if (unfinished > 0 && limit > 0) {
        fmt::print(
            stderr,
            "lapwing: MPI_Finalize was called before all ranks of {} communicators had begun their first "
            "collective\n",
            unfinished);
    }
}

// MPI_COMM_SELF's attributes are deleted first of all in MPI_Finalize, whichever way the program enters it.
int finalize(MPI_Comm, int, void*, void*) {
    const bool drained = request_table.drain(patience);
    // This waits for all ranks inside the MPI: not while a peer may need one of this rank's lists.
    if (runtime.watch != nullptr) compare_calls_at_end(*runtime.job);
    remove_hook();
    end_tracing();
    report_job();
    finish_groups(drained ? patience : 0);
    if (runtime.network != nullptr) runtime.network->leave();
    runtime.watch.reset();
    runtime.network.reset();
    runtime.job.reset();
    runtime.takes_calls = false;
    return MPI_SUCCESS;
}

}  // namespace

bool start_runtime(bool collective) {
    const std::lock_guard lock(start_mutex);
    if (runtime.started) return runtime.takes_calls;
    int initialized = 0;
    int finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    // A program of sessions only has no MPI_COMM_WORLD to report over: it is left alone.
    if (!initialized || finalized) return false;
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    runtime.threads = provided == MPI_THREAD_MULTIPLE;
    begin_recording(runtime.threads);
    start_job(collective);
    Entry::set_threads(runtime.threads);
    if (!collective) {
        runtime.why_not = Fallback::late;
    } else if (runtime.options.engine == "mpi") {
        runtime.why_not = Fallback::engine_mpi;
    } else if (!install_hook(progress_of_all, request_table.live(), runtime.threads,
                             runtime.network->needs_links_of_job() && runtime.network->may_have_thread())) {
        runtime.why_not = Fallback::no_hook;
    } else {
        runtime.takes_calls = true;
    }
    int keyval = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &keyval, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    PMPI_Comm_free_keyval(&keyval);
    runtime.started.store(true, std::memory_order_release);
    return runtime.takes_calls;
}

namespace {

int thread_level(int wanted) {
    const char* const engine = std::getenv("LAPWING_ENGINE");
    const bool leaves_all = engine != nullptr && std::strcmp(engine, "mpi") == 0;
    return leaves_all || offers_a_hook() ? wanted : MPI_THREAD_MULTIPLE;
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Init(int* argc, char*** argv) {
    bind_fortran();
    int provided = MPI_THREAD_SINGLE;
    const int level = thread_level(MPI_THREAD_SINGLE);
    const int error =
        level == MPI_THREAD_SINGLE ? NEXT_Init(argc, argv) : NEXT_Init_thread(argc, argv, level, &provided);
    if (error == MPI_SUCCESS) start_runtime(true);
    return error;
}

LAPWING_MPI MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    bind_fortran();
    const int error = NEXT_Init_thread(argc, argv, thread_level(required), provided);
    if (error == MPI_SUCCESS) start_runtime(true);
    return error;
}
