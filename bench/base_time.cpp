// Start and wait at once, of 8 bytes: Lapwing's collectives beside those of the MPI underneath, in one run,
// in turns, so that whatever else the machine does hits both. Run it under `lapwing run` on 2 or more ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Buffers {
    int bytes;  // of a block
    std::vector<char> sent;
    std::vector<char> received;

    Buffers(int block, int ranks)
        : bytes(block),
          sent(static_cast<std::size_t>(block) * static_cast<std::size_t>(ranks)),
          received(sent.size()) {}
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
         return MPI_Ibcast(b.sent.data(), b.bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request);
     },
     [](Buffers& b, MPI_Request* request) {
         return PMPI_Ibcast(b.sent.data(), b.bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request);
     }},
    {"Igather",
     [](Buffers& b, MPI_Request* request) {
         return MPI_Igather(b.sent.data(), b.bytes, MPI_BYTE, b.received.data(), b.bytes, MPI_BYTE, 0,
                            MPI_COMM_WORLD, request);
     },
     [](Buffers& b, MPI_Request* request) {
         return PMPI_Igather(b.sent.data(), b.bytes, MPI_BYTE, b.received.data(), b.bytes, MPI_BYTE, 0,
                             MPI_COMM_WORLD, request);
     }},
    {"Ialltoall",
     [](Buffers& b, MPI_Request* request) {
         return MPI_Ialltoall(b.sent.data(), b.bytes, MPI_BYTE, b.received.data(), b.bytes, MPI_BYTE,
                              MPI_COMM_WORLD, request);
     },
     [](Buffers& b, MPI_Request* request) {
         return PMPI_Ialltoall(b.sent.data(), b.bytes, MPI_BYTE, b.received.data(), b.bytes, MPI_BYTE,
                               MPI_COMM_WORLD, request);
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
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 51;
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        std::printf("%-10s %10s %12s %12s %8s   (us, medians of %d rounds, %d ranks)\n", "", "bytes", "MPI",
                    "Lapwing", "ratio", rounds, ranks);
    }
    for (const Row& row : rows) {
        for (const int bytes : {8, 4096, 65536, 1 << 20}) {
            const bool barrier = &row == &rows[0];
            if (barrier && bytes != 8) continue;
            Buffers buffers(bytes, ranks);
            const int calls = bytes <= 4096 ? 2000 : bytes <= 65536 ? 200 : 20;
            std::vector<double> lapwing;
            std::vector<double> mpi;
            std::vector<double> ratio;
            for (int round = 0; round < rounds; ++round) {
                mpi.push_back(time_of(row.mpi, PMPI_Wait, buffers, calls));
                lapwing.push_back(time_of(row.lapwing, MPI_Wait, buffers, calls));
                ratio.push_back(lapwing.back() / mpi.back());
            }
            if (rank == 0) {
                std::printf("%-10s %10d %12.3f %12.3f %8.2f\n", row.name, barrier ? 0 : bytes, median(mpi),
                            median(lapwing), median(ratio));
            }
        }
    }
    MPI_Finalize();
    return 0;
}
