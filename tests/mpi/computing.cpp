// What a program sees of the thread of Lapwing that drives the native MPI's progress: its large messages move
// while it computes, and nothing else changes. One part per run:
//   computing-<mpi> PART [ARGUMENT]
// With the argument "watch", a rank calls no MPI function until the last byte of its receive buffer has
// changed. Without a thread that drives the MPI it does so for ever. Rank 0 prints what holds; a rank that
// finds an error prints it and ends the job.
#include <dlfcn.h>
#include <fenv.h>
#include <linux/membarrier.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#if !defined(OPEN_MPI) && __has_include(<ucp/api/ucp.h>)
#include <ucp/api/ucp.h>
#define HAS_UCX
#endif

#include "persistent_forms.hpp"

extern char** environ;

namespace {

// Longer than the MPIs send ahead.
constexpr int length = 8 << 20;

bool watches = false;
char** arguments = nullptr;

int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
// Of two ranks; the only one is its own partner.
int other() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return (rank() + 1) % ranks;
}

void check(bool right, const char* what) {
    if (right) return;
    std::printf("rank %d: %s\n", rank(), what);
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
void say(const std::string& what) {
    if (rank() == 0) std::puts(what.c_str());
    std::fflush(stdout);
}

void compute(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// This thread's number in the kernel; a handler of signals may ask for it.
long thread_number() {
    return ::syscall(SYS_gettid);
}
std::atomic<long> main_thread{0};
std::atomic<int> on_main_thread{0};
std::atomic<int> elsewhere{0};
void note_thread() {
    ++(thread_number() == main_thread ? on_main_thread : elsewhere);
}

// An exchange of a large message with the other rank.
class Exchange {
  public:
    explicit Exchange(int bytes = length) : out_(bytes), in_(bytes) {}
    void* out() { return out_.data(); }
    void* in() { return in_.data(); }
    int bytes() const { return static_cast<int>(out_.size()); }
    void fill(char mark) {
        mark_ = mark;
        std::fill(out_.begin(), out_.end(), static_cast<char>(mark + rank()));
        std::fill(in_.begin(), in_.end(), '\0');
    }
    void start(char mark, MPI_Comm communicator = MPI_COMM_WORLD, int to = other()) {
        fill(mark);
        MPI_Irecv(in(), bytes(), MPI_BYTE, to, 1, communicator, &requests_[0]);
        MPI_Isend(out(), bytes(), MPI_BYTE, to, 1, communicator, &requests_[1]);
    }
    void watch(std::size_t byte) {
        if (!watches) return;
        const volatile char* last = &in_[byte];
        while (*last == '\0') {
        }
    }
    void watch() { watch(in_.size() - 1); }
    void wait() {
        MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
        check(in_ == std::vector<char>(in_.size(), static_cast<char>(mark_ + other())), "wrong data");
    }

  private:
    std::vector<char> out_, in_;
    char mark_ = 0;
    MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

void exchange_once() {
    Exchange exchange;
    exchange.start('a');
    exchange.watch();
    exchange.wait();
}

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
void by_pmpi() {
    Exchange exchange;
    exchange.fill('a');
    MPI_Request requests[2];
    PMPI_Irecv(exchange.in(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &requests[0]);
    PMPI_Isend(exchange.out(), length, MPI_BYTE, other(), 1, MPI_COMM_WORLD, &requests[1]);
    exchange.watch();
    PMPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    exchange.wait();
}

// The receiver comes late, and the thread has found nothing to move for long.
void late_receiver() {
    for (int late = 0; late < 2; ++late) {
        Exchange exchange;
        if (rank() == late) compute(std::chrono::milliseconds(300));
        exchange.start('a');
        exchange.watch();
        exchange.wait();
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
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(field)) return std::stol(line.substr(field.size()));
    }
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

// ---- The thread level ----

void level(const std::string& asked) {
    const std::map<std::string, int> levels = {{"single", MPI_THREAD_SINGLE},
                                               {"funneled", MPI_THREAD_FUNNELED},
                                               {"serialized", MPI_THREAD_SERIALIZED},
                                               {"multiple", MPI_THREAD_MULTIPLE}};
    int of_tools = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &of_tools);
    int provided = -1;
    if (asked == "init")
        MPI_Init(nullptr, nullptr);
    else
        MPI_Init_thread(nullptr, nullptr, levels.at(asked), &provided);
    int queried = -1;
    int is_main = -1;
    MPI_Query_thread(&queried);
    MPI_Is_thread_main(&is_main);
    check(is_main == 1, "MPI_Is_thread_main in the main thread");
    if (queried > MPI_THREAD_SINGLE) {
        int in_another = -1;
        std::thread([&] { MPI_Is_thread_main(&in_another); }).join();
        check(in_another == 0, "MPI_Is_thread_main in another thread");
    }
    exchange_once();
    int again = -1;
    MPI_Query_thread(&again);
    check(again == queried, "MPI_Query_thread changes");
    int of_later_tools = -1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &of_later_tools);
    MPI_T_finalize();
    MPI_T_finalize();
    say("provided " + std::to_string(provided) + ", queried " + std::to_string(queried) + ", of tools " +
        std::to_string(of_tools) + ", " + std::to_string(of_later_tools));
}

// ---- membarrier(2) ----

// The call fails until the process is registered. The kernel makes a process with several threads wait for
// its registration, which must not be in MPI_Init then.
void registration(const std::string& process) {
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    if (process == "threads") threads.emplace_back([&] { ends.wait(false); });
    MPI_Init(nullptr, nullptr);
    const bool registered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    check(registered == threads.empty(), "whether MPI_Init registers the process");
    watches = true;
    exchange_once();
    ends = true;
    ends.notify_all();
    for (std::thread& thread : threads) thread.join();
}

#if MPI_VERSION >= 4
// A session with a level of its own.
void session() {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    exchange_once();
    MPI_Session_get_info(session, &info);
    char level[64] = "";
    int size = sizeof level;
    int found = 0;
    MPI_Info_get_string(info, "thread_level", &size, level, &found);
    int queried = -1;
    MPI_Query_thread(&queried);
    say("session " + std::string(level) + ", queried " + std::to_string(queried));
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
}
#endif

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

// ---- The end ----

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

// ---- Processes and signals ----

int pipe_of_child = -1;
void write_at_exit() {
    if (pipe_of_child >= 0 && ::write(pipe_of_child, "x", 1) != 1) std::abort();
}

void children() {
    std::atexit(write_at_exit);
    for (int kind = 0; kind < 4; ++kind) {
        Exchange exchange;
        exchange.start('a');
        int status = -1;
        if (kind == 0) {
            int ends[2];
            check(::pipe(ends) == 0, "pipe");
            const pid_t child = ::fork();
            if (child == 0) {
                pipe_of_child = ends[1];
                std::exit(0);
            }
            ::close(ends[1]);
            char byte = 0;
            check(::read(ends[0], &byte, 1) == 1 && byte == 'x', "the child's handlers have not run");
            ::close(ends[0]);
            ::waitpid(child, &status, 0);
        } else if (kind == 1) {
            status = std::system("exit 0");
        } else if (kind == 2) {
            FILE* const output = ::popen("echo child", "r");
            char line[16] = "";
            check(std::fgets(line, sizeof line, output) != nullptr && std::strcmp(line, "child\n") == 0,
                  "popen");
            status = ::pclose(output);
        } else {
            pid_t child = 0;
            char program[] = "/bin/true";
            char* const words[] = {program, nullptr};
            check(::posix_spawn(&child, program, nullptr, nullptr, words, environ) == 0, "posix_spawn");
            ::waitpid(child, &status, 0);
        }
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's exit status");
        exchange.watch();
        exchange.wait();
    }
}

// The MPI's own threads, too, receive signals.
void note_signal(int) {
    char name[16] = "";
    ::prctl(PR_GET_NAME, name);
    ++(std::strstr(name, "lapwing") == nullptr ? on_main_thread : elsewhere);
}
void signals() {
    std::signal(SIGUSR1, note_signal);
    std::signal(SIGPROF, note_signal);
    const itimerval often = {{0, 1'000}, {0, 1'000}};
    ::setitimer(ITIMER_PROF, &often, nullptr);
    for (int round = 0; round < 3; ++round) {
        Exchange exchange;
        exchange.start('a');
        exchange.watch();
        for (int i = 0; i < 20; ++i) {
            ::kill(::getpid(), SIGUSR1);
            compute(std::chrono::milliseconds(1));
        }
        exchange.wait();
    }
    const itimerval never = {};
    ::setitimer(ITIMER_PROF, &never, nullptr);
    check(on_main_thread >= 20 && elsewhere == 0, "signals reached a thread of Lapwing");
}

// ---- Callbacks ----

void sum(void* in, void* out, int* count, MPI_Datatype*) {
    note_thread();
    for (int i = 0; i < *count; ++i) static_cast<int*>(out)[i] += static_cast<int*>(in)[i];
}
void reduction() {
    MPI_Op operation = MPI_OP_NULL;
    MPI_Op_create(sum, 1, &operation);
    for (int round = 0; round < 3; ++round) {
        Exchange exchange;
        exchange.start('a');
        std::vector<int> in(100'000, rank() + 1);
        std::vector<int> out(in.size(), 0);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, operation, MPI_COMM_WORLD,
                       &request);
        compute(std::chrono::milliseconds(50));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(out == std::vector<int>(in.size(), 3), "wrong sum");
        exchange.wait();
    }
    MPI_Op_free(&operation);
    // A rank of two may need no operator.
    check(elsewhere == 0, "the operator ran in another thread");
}

// A list of Lapwing's is in flight beside a reduction that the MPI runs.
void reduction_beside_list() {
    MPI_Comm of_mpi = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Op operation = MPI_OP_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "lapwing_engine", "mpi");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &of_mpi);
    MPI_Info_free(&info);
    MPI_Op_create(sum, 1, &operation);
    int data = 0;
    std::vector<int> in(1'000, rank() + 1);
    std::vector<int> out(in.size(), 0);
    MPI_Request requests[2];
    if (rank() == 0) MPI_Ibcast(&data, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, operation, of_mpi,
                   &requests[1]);
    compute(std::chrono::milliseconds(300));
    if (rank() == 1) MPI_Ibcast(&data, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(out == std::vector<int>(in.size(), 3), "wrong sum");
    check(elsewhere == 0, "the operator ran in another thread");
    MPI_Op_free(&operation);
    MPI_Comm_free(&of_mpi);
}

void handle_error(MPI_Comm*, int*, ...) {
    note_thread();
}
int query(void*, MPI_Status* status) {
    note_thread();
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
int free_request(void*) {
    note_thread();
    return MPI_SUCCESS;
}
int cancel_request(void*, int) {
    return MPI_SUCCESS;
}
int copy_attribute(MPI_Comm, int, void*, void*, void*, int* flag) {
    note_thread();
    *flag = 1;
    return MPI_SUCCESS;
}
int delete_attribute(MPI_Comm, int, void*, void*) {
    note_thread();
    return MPI_SUCCESS;
}
void callbacks() {
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Comm_create_errhandler(handle_error, &handler);
    // An MPI may also call the handler of another communicator for an error in MPI_Wait.
    for (MPI_Comm one : {communicator, MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, handler);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
    MPI_Comm_set_attr(communicator, key, nullptr);
    MPI_Request general = MPI_REQUEST_NULL;
    MPI_Grequest_start(query, free_request, cancel_request, nullptr, &general);
    Exchange exchange;
    exchange.start('a');
    // The receive is shorter than the message.
    char out[1'000] = {};
    char in[500] = {};
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof in, MPI_BYTE, other(), 2, communicator, &requests[0]);
    MPI_Isend(out, sizeof out, MPI_BYTE, other(), 2, communicator, &requests[1]);
    exchange.watch();
    compute(std::chrono::milliseconds(50));
    check(on_main_thread == 0, "a callback came too early");
    const int error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check(error != MPI_SUCCESS && on_main_thread == 1, "the error handler was not called once");
    for (MPI_Comm one : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(one, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Grequest_complete(general);
    MPI_Wait(&general, MPI_STATUS_IGNORE);
    check(on_main_thread == 3, "the functions of a generalized request");
    MPI_Comm_dup(communicator, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&communicator);
    check(on_main_thread == 6, "the functions of an attribute");
    exchange.wait();
    MPI_Comm_free_keyval(&key);
    MPI_Errhandler_free(&handler);
    check(elsewhere == 0, "a callback ran in another thread");
}

#ifdef HAS_UCX
#define OF_UCX(function) reinterpret_cast<decltype(&function)>(::dlsym(RTLD_DEFAULT, #function))

std::atomic<bool> in_own_worker{false};
std::atomic<int> sums_there{0};
void sum_and_note(void* in, void* out, int* count, MPI_Datatype*) {
    if (in_own_worker && thread_number() == main_thread) ++sums_there;
    for (int i = 0; i < *count; ++i) static_cast<int*>(out)[i] += static_cast<int*>(in)[i];
}
// A library of the program has a worker of UCX, and progresses it outside of the MPI: no list may advance
// there.
void own_worker() {
    ucp_config_t* config = nullptr;
    check(OF_UCX(ucp_config_read)(nullptr, nullptr, &config) == UCS_OK, "no settings of UCX");
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG;
    ucp_context_h context = nullptr;
    check(OF_UCX(ucp_init_version)(UCP_API_MAJOR, UCP_API_MINOR, &parameters, config, &context) == UCS_OK,
          "no context of UCX");
    const ucp_worker_params_t of_worker{};
    ucp_worker_h worker = nullptr;
    check(OF_UCX(ucp_worker_create)(context, &of_worker, &worker) == UCS_OK, "no worker of UCX");
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(sum_and_note, 1, &add);
    int mine = rank() + 1;
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, add, MPI_COMM_WORLD, &request);
    in_own_worker = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (rank() == 0 && std::chrono::steady_clock::now() < end) OF_UCX(ucp_worker_progress)(worker);
    in_own_worker = false;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(sums_there == 0, "a list advanced in the progress of the program's own worker");
    check(sum == 3, "a wrong sum");
    MPI_Op_free(&add);
    OF_UCX(ucp_worker_destroy)(worker);
    OF_UCX(ucp_cleanup)(context);
}
#endif

// ---- Several jobs ----

void spawned() {
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    const bool is_child = parent != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(arguments[0], arguments + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent,
                       MPI_ERRCODES_IGNORE);
    // Rank 0 of a job exchanges messages with rank 1 of the other: their data tell.
    Exchange exchange;
    exchange.start('a', parent, other());
    exchange.watch();
    exchange.wait();
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
    Exchange over_port;
    over_port.start('a', between, 0);
    over_port.watch();
    over_port.wait();
    MPI_Comm_disconnect(&between);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string part = argc > 1 ? argv[1] : "";
    const std::string argument = argc > 2 ? argv[2] : "";
    arguments = argv;
    watches = argument == "watch";
    main_thread = thread_number();
    const std::map<std::string, std::function<void()>> parts = {
        {"once", exchange_once},
        {"persistent", persistent},
        {"collective", collective},
        {"derived", derived},
        {"pmpi", by_pmpi},
        {"late", late_receiver},
        {"once_away", stays_away_once},
        {"windows", windows},
        {"freed_window", freed_window},
        {"late_agreement", late_agreement},
        {"exit", exit_without_finalize},
        {"abort", abort_job},
        {"attribute", attribute},
        {"end_late", end_late},
        {"requests", leave_requests},
        {"children", children},
        {"signals", signals},
        {"reduction", reduction},
        {"reduction_beside_list", reduction_beside_list},
        {"callbacks", callbacks},
#ifdef HAS_UCX
        {"own_worker", own_worker},
#endif
        {"spawned", spawned},
        {"traps", exchange_once},
#if MPI_VERSION >= 4
        {"session", session},
#endif
        {"many_persistent", many_persistent},
        {"ports", ports}
    };
    // Threads that are made from now on inherit the traps.
    if (part == "traps") ::feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    if (part == "level") {
        level(argument);
    } else if (part == "registration") {
        registration(argument);
    } else {
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(nullptr, nullptr, argument == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                        &provided);
        parts.at(part)();
    }
    say("all right");
    MPI_Finalize();
    return 0;
}
