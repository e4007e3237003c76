// Preloaded into programs of Debian's MPICH in tests only. Its ranks spin in UCX while they wait, and with
// more ranks than cores each hand-over then costs a whole time slice: seconds become minutes. Here a rank
// whose progress call found nothing to do offers its core to the next.
//
// With SAY_WHEN_MPICH_ENDS in the environment each rank says when MPICH begins to close its connections. It
// does so in MPI_Finalize, after the attributes of MPI_COMM_SELF are deleted, by which Lapwing ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned (*Progress)(void* worker);
typedef void* (*Disconnect)(void* endpoint);

static void* of_ucp(const char* name) {
    // The next preloaded library, which may be Lapwing, or UCX. Python loads MPI, and UCX with it, outside
    // the global scope.
    void* found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        void* ucp = dlopen("libucp.so.0", RTLD_LAZY);
        found = ucp ? dlsym(ucp, name) : NULL;
    }
    if (found == NULL) abort();
    return found;
}

unsigned ucp_worker_progress(void* worker) {
    static Progress progress;
    if (progress == NULL) progress = (Progress)of_ucp("ucp_worker_progress");
    unsigned events = progress(worker);
    if (events == 0) sched_yield();
    return events;
}

void* ucp_disconnect_nb(void* endpoint) {
    static Disconnect disconnect;
    if (disconnect == NULL) {
        disconnect = (Disconnect)of_ucp("ucp_disconnect_nb");
        static const char line[] = "MPICH closes its connections\n";
        if (getenv("SAY_WHEN_MPICH_ENDS") != NULL && write(2, line, sizeof line - 1) < 0) abort();
    }
    return disconnect(endpoint);
}
