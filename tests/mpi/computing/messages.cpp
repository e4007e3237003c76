// Messages, persistent collectives and windows that move while the program computes.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "computing/exchange.hpp"
#include "persistent_forms.hpp"

namespace computing {
namespace {

void persistent() {
    Exchange exchange;
    MPI_Request requests[2];
    MPI_Recv_init(exchange.in(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(exchange.out(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &requests[1]);
    for (char round = 0; round < 4; ++round) {
        exchange.fill(static_cast<char>('a' + 2 * round));
        if (round % 2 == 0) {
            MPI_Startall(2, requests);
        } else {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        }
        exchange.watch();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        exchange.wait();
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

// The MPI's own, persistent.
void collective() {
    std::vector<char> data(length);
    MPI_Request request = MPI_REQUEST_NULL;
    PERSISTENT(Bcast)(data.data(), length, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (char mark = 'a'; mark < 'e'; ++mark) {
        std::fill(data.begin(), data.end(), rank() == 0 ? mark : '\0');
        MPI_Start(&request);
        const volatile char* last = &data.back();
        while (watches && *last == '\0') {
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(data == std::vector<char>(data.size(), mark), "wrong data");
    }
    MPI_Request_free(&request);
}

void derived() {
    // Blocks of 3,000 bytes in steps of 4,000 bytes.
    constexpr int blocks = length / 4'000;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(blocks, 3'000, 4'000, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    Exchange exchange;
    exchange.fill('a');
    MPI_Request requests[2];
    MPI_Irecv(exchange.in(), 1, type, other(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(exchange.out(), 1, type, other(), 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&type);
    exchange.watch(4'000 * (blocks - 1) + 2'999);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    std::vector<char> expected(length);
    for (int i = 0; i < blocks; ++i)
        std::fill_n(&expected[4'000 * i], 3'000, static_cast<char>('a' + other()));
    check(std::memcmp(exchange.in(), expected.data(), length) == 0, "wrong data");
}

// As libraries call the MPI that have tools of their own.
// As libraries call the MPI that have tools of their own.
void by_pmpi() {
    Exchange exchange;
    exchange.start('a', world, other(), PMPI_Irecv, PMPI_Isend);
    exchange.watch();
    exchange.wait(PMPI_Waitall);
}

// The receiver comes late, and the thread has found nothing to move for long.
void late_receiver() {
    for (int late = 0; late < 2; ++late) {
        if (rank() == late) compute(std::chrono::milliseconds(300));
        exchange_once();
    }
}

// Stays away once, where the program had always come back at once.
void stays_away_once() {
    Exchange exchange;
    for (char mark = 'a'; mark <= 'h'; ++mark) {
        exchange.start(mark);
        if (mark == 'h') exchange.watch();
        exchange.wait();
    }
}

// Another rank turns to a window where the program had always come back at once.
void windows() {
    const bool is_target = rank() == 0;
    for (int round = 0; round < 3; ++round) {
        // Without a window: Lapwing's thread falls asleep.
        if (round == 2) compute(std::chrono::milliseconds(100));
        std::vector<int> data(1);
        MPI_Win window = MPI_WIN_NULL;
        MPI_Win_create(data.data(), sizeof data[0], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, window);
        if (round == 2 && !is_target) {
            const int one = 1;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
            MPI_Win_unlock(0, window);
        } else if (round == 2 && watches) {
            const volatile int* const sum = data.data();
            while (*sum == 0) {
            }
        }
        MPI_Win_free(&window);
    }
}

// A window that is counted when it is freed must have been counted when it was made.
void freed_window() {
#if MPI_VERSION >= 4
    const auto free = [](MPI_Win window) { MPI_Win_free(&window); };
    MPI_Win window = MPI_WIN_NULL;
    char memory[64] = {};
    void* allocated = nullptr;
    MPI_Win_create_c(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    free(window);
    MPI_Win_allocate_c(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &window);
    free(window);
    MPI_Win_allocate_shared_c(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &window);
    free(window);
#endif
    // One after the other: a lost count of one would not show beside a second message.
    Exchange exchange;
    for (int receiver = 0; receiver < 2; ++receiver) {
        exchange.fill('a');
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank() == receiver) {
            MPI_Irecv(exchange.in(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &request);
            exchange.watch();
        } else {
            MPI_Isend(exchange.out(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// How often the main thread of a process has slept; a thread that yields does not sleep.
long sleeps_of(int process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    const std::string field = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field)) return std::stol(line.substr(field.size()));
    return -1;
}

// The first rank waits for the agreement of a communicator's ranks until the second one has seen it sleep.
void late_agreement() {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    int process = ::getpid();
    if (rank() == 0) {
        MPI_Send(&process, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&process, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (const long before = sleeps_of(process); sleeps_of(process) < before + 100;)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    MPI_Request request = MPI_REQUEST_NULL;
    PERSISTENT(Barrier)(communicator, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Comm_free(&communicator);
}

// More persistent collectives than tags that every MPI has: all, by the MPI, beside a message.
void many_persistent() {
    exchange_once();
    std::vector<MPI_Request> requests(32'800);
    for (MPI_Request& request : requests) PERSISTENT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (MPI_Request& request : requests) {
        MPI_Request both[2] = {request, MPI_REQUEST_NULL};
        int data = 0;
        MPI_Irecv(&data, 1, MPI_INT, rank(), 1, MPI_COMM_WORLD, &both[1]);
        MPI_Send(&data, 1, MPI_INT, rank(), 1, MPI_COMM_WORLD);
        MPI_Start(&both[0]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Request_free(&request);
    }
}

void spawned() {
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    const bool is_child = parent != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(arguments[0], arguments + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent,
                       MPI_ERRCODES_IGNORE);
    // Rank 0 of a job exchanges messages with rank 1 of the other: their data tell.
    Exchange().run('a', parent, other());
    exchange_once();
    MPI_Comm_disconnect(&parent);
}

// Ranks 0 and 1 connect through a port, with a message between them in flight.
void ports() {
    Exchange exchange;
    exchange.start('a');
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between = MPI_COMM_NULL;
    if (rank() == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
        MPI_Close_port(port);
    } else {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
    }
    exchange.watch();
    exchange.wait();
    Exchange().run('a', between, 0);
    MPI_Comm_disconnect(&between);
}

}  // namespace

Parts messages() {
    return {{"once", exchange_once},
            {"persistent", persistent},
            {"collective", collective},
            {"derived", derived},
            {"pmpi", by_pmpi},
            {"late", late_receiver},
            {"once_away", stays_away_once},
            {"windows", windows},
            {"freed_window", freed_window},
            {"late_agreement", late_agreement},
            {"many_persistent", many_persistent},
            {"spawned", spawned},
            {"ports", ports},
            {"traps", exchange_once}};
}

}  // namespace computing
