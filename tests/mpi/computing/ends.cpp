// The end of a job, with requests that are pending.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "computing/exchange.hpp"

namespace computing {
namespace {

// A receive that no message matches.
void receive_without_message() {
    static std::vector<char> in(length);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(in.data(), length, MPI_BYTE, other(), 99, MPI_COMM_WORLD, &request);
    compute(std::chrono::milliseconds(30));
}

void exit_without_finalize() {
    exchange_once();
    receive_without_message();
    std::exit(0);
}

void abort_job() {
    exchange_once();
    receive_without_message();
    if (rank() == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    for (;;) compute(std::chrono::milliseconds(100));
}

int lapwings_threads() {
    int threads = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(thread.path() / "comm"), name);
        if (name == "lapwing") ++threads;
    }
    return threads;
}
int threads_before = 0;
// In MPI_Finalize, when Lapwing's thread has ended: MPICH takes no locks any more.
int communicates(MPI_Comm, int, void*, void*) {
    check(threads_before == 0 || lapwings_threads() < threads_before, "Lapwing's thread runs on");
    watches = false;
    exchange_once();
    say("the callback has communicated");
    return MPI_SUCCESS;
}
void attribute() {
    exchange_once();
    threads_before = lapwings_threads();
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, communicates, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    MPI_Comm_free_keyval(&key);
}

// MPICH 4.0 over TCP hangs in MPI_Finalize by itself if a rank, as here, receives something after the other
// one has called it.
void end_late() {
    exchange_once();
    if (rank() != 1) return;
    ::sleep(1);
    for (int i = 0; i < 100; ++i) {
        int found = 0;
        MPI_Iprobe(other(), 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        ::usleep(1000);
    }
}

// Persistent requests that are inactive, and a cancelled receive.
void leave_requests() {
    static std::vector<char> data(length);
    MPI_Request requests[2];
    MPI_Recv_init(data.data(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data.data(), length, MPI_BYTE, other(), 99, MPI_COMM_WORLD, &requests[1]);
    compute(std::chrono::milliseconds(10));
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    exchange_once();
}

}  // namespace

Parts ends() {
    return {{"exit", exit_without_finalize},
            {"abort", abort_job},
            {"attribute", attribute},
            {"end_late", end_late},
            {"requests", leave_requests}};
}

}  // namespace computing
