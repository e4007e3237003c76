// mixture COLLECTIVES [SLOW]: that many mixed collectives on three communicators, several in flight, with
// random delays; results checked; afterwards neither memory nor descriptors may have grown since the first
// tenth.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

namespace {

struct Flight {
    MPI_Comm communicator;
    int kind;
    int root;
    int seed;
    std::size_t count;
    std::vector<int> sent;
    std::vector<int> received;
    MPI_Request request = MPI_REQUEST_NULL;
};

int value(int rank, int block, int seed, std::size_t i) {
    return rank * 1'000'003 + block * 7919 + seed * 31 + static_cast<int>(i);
}

std::unique_ptr<Flight> start(MPI_Comm communicator, std::mt19937& random) {
    auto flight = std::make_unique<Flight>();
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &ranks);
    flight->communicator = communicator;
    flight->kind = static_cast<int>(random() % 4);
    flight->root = static_cast<int>(random() % static_cast<unsigned>(ranks));
    flight->seed = static_cast<int>(random() % 1000);
    const std::size_t counts[] = {1, 10, 300, 2000};
    flight->count = counts[random() % 4];
    const auto blocks = static_cast<std::size_t>(ranks);
    const int count = static_cast<int>(flight->count);
    switch (flight->kind) {
        case 0:
            MPI_Ibarrier(communicator, &flight->request);
            break;
        case 1:
            flight->received.assign(flight->count, -1);
            if (rank == flight->root) {
                for (std::size_t i = 0; i < flight->count; ++i)
                    flight->received[i] = value(rank, 0, flight->seed, i);
            }
            MPI_Ibcast(flight->received.data(), count, MPI_INT, flight->root, communicator, &flight->request);
            break;
        case 2:
            flight->sent.resize(flight->count);
            for (std::size_t i = 0; i < flight->count; ++i) flight->sent[i] = value(rank, 0, flight->seed, i);
            if (rank == flight->root) flight->received.assign(flight->count * blocks, -1);
            MPI_Igather(flight->sent.data(), count, MPI_INT, flight->received.data(), count, MPI_INT,
                        flight->root, communicator, &flight->request);
            break;
        default:
            flight->sent.resize(flight->count * blocks);
            for (std::size_t i = 0; i < flight->sent.size(); ++i) {
                flight->sent[i] =
                    value(rank, static_cast<int>(i / flight->count), flight->seed, i % flight->count);
            }
            flight->received.assign(flight->sent.size(), -1);
            MPI_Ialltoall(flight->sent.data(), count, MPI_INT, flight->received.data(), count, MPI_INT,
                          communicator, &flight->request);
    }
    return flight;
}

bool right(const Flight& flight) {
    int rank = 0;
    MPI_Comm_rank(flight.communicator, &rank);
    for (std::size_t i = 0; i < flight.received.size(); ++i) {
        const int block = static_cast<int>(i / flight.count);
        const int from = flight.kind == 1 ? flight.root : block;
        const int to = flight.kind == 3 ? rank : 0;
        if (flight.received[i] != value(from, to, flight.seed, i % flight.count)) return false;
    }
    return true;
}

long resident_kib() {
    long pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long descriptors() {
    long count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int collectives = argc > 1 ? std::atoi(argv[1]) : 1000;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm communicators[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 4, rank, &communicators[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 4, -rank, &communicators[2]);
    // What is done is the same on all ranks; when it is done differs.
    std::mt19937 shared(42);
    std::mt19937 own(static_cast<unsigned>(rank) + 1);
    std::mt19937 streams[3] = {std::mt19937(1), std::mt19937(2), std::mt19937(3)};
    std::deque<std::unique_ptr<Flight>> flights;
    int wrong = 0;
    long kib = 0;
    long open = 0;
    for (int i = 0; i < collectives; ++i) {
        const std::size_t which = shared() % 3;
        flights.push_back(start(communicators[which], streams[which]));
        if (own() % 4 == 0) ::usleep(static_cast<useconds_t>(own() % 2000));
        while (flights.size() > 6) {
            MPI_Wait(&flights.front()->request, MPI_STATUS_IGNORE);
            wrong += right(*flights.front()) ? 0 : 1;
            flights.pop_front();
        }
        if (i == collectives / 2) {
            kib = resident_kib();
            open = descriptors();
        }
    }
    while (!flights.empty()) {
        MPI_Wait(&flights.front()->request, MPI_STATUS_IGNORE);
        wrong += right(*flights.front()) ? 0 : 1;
        flights.pop_front();
    }
    long most[3] = {wrong, resident_kib() - kib, descriptors() - open};
    MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("%d collectives: wrong %ld, memory grown by %ld KiB, descriptors by %ld\n", collectives,
                    most[0], most[1], most[2]);
        std::fflush(stdout);
    }
    MPI_Comm_free(&communicators[1]);
    MPI_Comm_free(&communicators[2]);
    MPI_Finalize();
    return most[0] == 0 ? 0 : 1;
}
