// An MPI program that does what its arguments say, to see how it ends. What arrives is compared with what
// was sent.
//   killed RANK POINT   that rank is killed at that point:
//     start     before the first collective
//     offered   it has started its part, and never looks at it again
//     moving    some of its long messages are on their way
//     awaited   the others wait for its part, which it has not started
//     end       all collectives are complete
//   leaves    ends by _exit(0), without MPI_Finalize
//   hinted ALGORITHMS   names them by an info key
//   plain     nothing special: a few collectives; the file that the second argument names, if any, is open
//             from the start on
//   connected says how many connections it has after MPI_Init, and ends
//   secret    the same, in processes that are not dumpable, as those whose program file may not be read
//   first     its first reduction starts while a barrier is in flight
//   steady    the same for some seconds, so that something can happen meanwhile; rank 0 creates the file
//             that the second argument names, if any, when links have been made
//   ends      rank 1 stops in MPI_Finalize when it closes its first connection, and creates the file that the
//             second argument names; it goes on when the file has been removed and created again
//   mixed     rank 0 waits at once for a collective and for a message of the MPI's own, which rank 1 sends it
//             after so many seconds; all this time rank 1 waits for rank 0's part in another collective
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int rank = 0;
int ranks = 0;
std::string point;  // at which this rank is killed
std::string stops;  // the file that it creates then; empty: it does not stop

// Over TCP. The peer may have closed it.
bool is_connection(int descriptor) {
    const auto option = [descriptor](int name) {
        int value = -1;
        socklen_t bytes = sizeof value;
        return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &bytes) == 0 ? value : -1;
    };
    return option(SO_DOMAIN) == AF_INET && option(SO_TYPE) == SOCK_STREAM && option(SO_ACCEPTCONN) == 0;
}

void stop() {
    const std::string file = std::exchange(stops, "");
    const auto exists = [&file] { return ::access(file.c_str(), F_OK) == 0; };
    std::ofstream(file).put('\n');
    while (exists()) ::usleep(1'000);
    while (!exists()) ::usleep(1'000);
}

void reach(const char* here, int round) {
    // In the middle, when links have been made.
    if (point != here || (round >= 0 && round != 5)) return;
    std::printf("rank %d is about to be killed\n", rank);
    std::fflush(stdout);
    ::kill(::getpid(), SIGKILL);
}

int value(int from, int to, int round) {
    return (round * 100 + from) * 100 + to;
}

void wait_for_both(unsigned seconds) {
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    int message = rank;
    MPI_Request requests[2];
    // Rank 0 shall still look for the end of this one when it comes, and not sleep.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    if (rank == 0) {
        MPI_Irecv(&message, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Ibarrier(other, &requests[0]);
    } else {
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Ibarrier(other, &requests[0]);
        ::sleep(seconds);
        if (rank == 1) MPI_Send(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
}

}  // namespace

// Also for Lapwing's library.
extern "C" __attribute__((visibility("default"))) int close(int descriptor) {
    if (!stops.empty() && is_connection(descriptor)) stop();
    return static_cast<int>(::syscall(SYS_close, descriptor));
}

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "plain";
    if (what == "plain" && argc > 2) static_cast<void>(::open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0666));
    if (what == "secret") ::prctl(PR_SET_DUMPABLE, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (what == "connected") {
        int connections = 0;
        for (int descriptor = 3; descriptor < 1024; ++descriptor)
            connections += is_connection(descriptor) ? 1 : 0;
        std::printf("connections: %d\n", connections);
        return MPI_Finalize();
    }
    if (what == "killed" && argc > 3 && std::atoi(argv[2]) == rank) point = argv[3];
    reach("start", -1);
    if (what == "mixed" && argc > 2) wait_for_both(static_cast<unsigned>(std::atoi(argv[2])));
    if (what == "first") {
        int sum = 0;
        MPI_Request requests[2];
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (what == "hinted" && argc > 2) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "lapwing_algorithm", argv[2]);
        MPI_Comm_set_info(MPI_COMM_WORLD, info);
        MPI_Info_free(&info);
    }
    const std::size_t count = 100'000;
    const auto blocks = static_cast<std::size_t>(ranks);
    std::vector<int> sent(count * blocks);
    std::vector<int> received(sent.size());
    const bool steady = what == "steady";
    for (int i = 0; i < (steady ? 30 : 10); ++i) {
        if (steady) ::usleep(100'000);
        if (steady && i == 5 && rank == 0 && argc > 2) std::ofstream(argv[2]).put('\n');
        for (std::size_t at = 0; at < sent.size(); ++at)
            sent[at] = value(rank, static_cast<int>(at / count), i);
        reach("awaited", i);
        MPI_Request requests[2];
        MPI_Ialltoall(sent.data(), static_cast<int>(count), MPI_INT, received.data(), static_cast<int>(count),
                      MPI_INT, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        reach("offered", i);
        if (point == "moving") {
            int complete = 0;
            MPI_Testall(2, requests, &complete, MPI_STATUSES_IGNORE);
            reach("moving", i);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (std::size_t at = 0; at < received.size(); ++at) {
            if (received[at] == value(static_cast<int>(at / count), rank, i)) continue;
            std::printf("rank %d has got wrong data\n", rank);
            std::fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    reach("end", -1);
    if (rank == 0) std::printf("all done\n");
    if (what == "leaves") {
        std::fflush(stdout);
        ::_exit(0);
    }
    if (what == "ends" && rank == 1 && argc > 2) stops = argv[2];
    MPI_Finalize();
    return 0;
}
