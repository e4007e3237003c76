// Preloaded into programs of Debian's MPICH in tests only. Its ranks spin in UCX while they wait, and with
// more ranks than cores each hand-over then costs a whole time slice: seconds become minutes. Here a rank
// whose progress call found nothing to do offers its core to the next, and soon sleeps between the calls: a
// yield alone often returns to the rank that yielded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned (*Progress)(void* worker);

static Progress next(void) {
    // The next preloaded library, which may be Lapwing, or UCX. Python loads MPI, and UCX with it, outside
    // the global scope.
    void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (found == NULL) {
        void* ucp = dlopen("libucp.so.0", RTLD_LAZY);
        found = ucp ? dlsym(ucp, "ucp_worker_progress") : NULL;
    }
    if (found == NULL) abort();
    return (Progress)found;
}

unsigned ucp_worker_progress(void* worker) {
    static Progress progress;
    static _Thread_local int idle_calls = 0;
    if (progress == NULL) progress = next();
    unsigned events = progress(worker);
    idle_calls = events == 0 ? idle_calls + 1 : 0;
    if (idle_calls > 50)
        usleep(1);
    else if (idle_calls > 0)
        sched_yield();
    return events;
}
