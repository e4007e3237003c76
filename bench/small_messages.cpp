// Start and wait at once, of 8 bytes: Lapwing's collectives beside those of the MPI underneath, in one run,
// in turns, so that whatever else the machine does hits both. Run it under `lapwing run` on 2 or more ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Buffers {
    std::vector<char> sent;
    std::vector<char> received;
};

struct Row {
    const char* name;
    int (*lapwing)(Buffers&, MPI_Request*);
    int (*mpi)(Buffers&, MPI_Request*);
};

const Row rows[] = {
    {"Ibarrier", [](Buffers&, MPI_Request* request) { return MPI_Ibarrier(MPI_COMM_WORLD, request); },
     [](Buffers&, MPI_Request* request) { return PMPI_Ibarrier(MPI_COMM_WORLD, request); }},
    {"Ibcast",
     [](Buffers& b, MPI_Request* request) {
         return MPI_Ibcast(b.sent.data(), 8, MPI_BYTE, 0, MPI_COMM_WORLD, request);
     },
     [](Buffers& b, MPI_Request* request) {
         return PMPI_Ibcast(b.sent.data(), 8, MPI_BYTE, 0, MPI_COMM_WORLD, request);
     }},
    {"Igather",
     [](Buffers& b, MPI_Request* request) {
         return MPI_Igather(b.sent.data(), 8, MPI_BYTE, b.received.data(), 8, MPI_BYTE, 0, MPI_COMM_WORLD,
                            request);
     },
     [](Buffers& b, MPI_Request* request) {
         return PMPI_Igather(b.sent.data(), 8, MPI_BYTE, b.received.data(), 8, MPI_BYTE, 0, MPI_COMM_WORLD,
                             request);
     }},
    {"Ialltoall",
     [](Buffers& b, MPI_Request* request) {
         return MPI_Ialltoall(b.sent.data(), 8, MPI_BYTE, b.received.data(), 8, MPI_BYTE, MPI_COMM_WORLD,
                              request);
     },
     [](Buffers& b, MPI_Request* request) {
         return PMPI_Ialltoall(b.sent.data(), 8, MPI_BYTE, b.received.data(), 8, MPI_BYTE, MPI_COMM_WORLD,
                               request);
     }},
};

// Microseconds for one start and wait, the slowest rank's.
double time_of(int (*start)(Buffers&, MPI_Request*), int (*wait)(MPI_Request*, MPI_Status*), Buffers& buffers,
               int calls) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
        MPI_Request request;
        start(buffers, &request);
        wait(&request, MPI_STATUS_IGNORE);
    }
    double spent = (MPI_Wtime() - begin) / calls * 1e6;
    PMPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return spent;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int calls = argc > 1 ? std::atoi(argv[1]) : 2000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 101;
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Buffers buffers{std::vector<char>(static_cast<std::size_t>(8 * ranks)),
                    std::vector<char>(static_cast<std::size_t>(8 * ranks))};
    if (rank == 0)
        std::printf("%-10s %12s %12s %8s   (us, median of %d rounds of %d calls, %d ranks)\n", "8 bytes",
                    "MPI", "Lapwing", "ratio", rounds, calls, ranks);
    for (const Row& row : rows) {
        std::vector<double> lapwing;
        std::vector<double> mpi;
        std::vector<double> ratio;
        for (int round = 0; round < rounds; ++round) {
            mpi.push_back(time_of(row.mpi, PMPI_Wait, buffers, calls));
            lapwing.push_back(time_of(row.lapwing, MPI_Wait, buffers, calls));
            ratio.push_back(lapwing.back() / mpi.back());
        }
        if (rank == 0)
            std::printf("%-10s %12.3f %12.3f %8.2f\n", row.name, median(mpi), median(lapwing), median(ratio));
    }
    MPI_Finalize();
    return 0;
}
