/* Buffers that are first used a known time after the calls that fill them, and last written a known time
 * before the calls that send them, for `lapwing profile --first-touch`. Plain MPI, two ranks. Exits with 1 if
 * a byte is wrong. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { bytes = 1 << 20, pause_microseconds = 30000 };

static int rank, wrong;
static char* data; /* private, whole pages */
static sigjmp_buf back;
static volatile sig_atomic_t faults;

static void expect(int good, const char* what) {
    if (good) return;
    wrong = 1;
    printf("wrong: %s\n", what);
}

/* The first access is later than `used` - `returned` after the guard was set, and no later than the end -
 * `called`. */
static double called, returned, used;
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
static void print_bounds(const char* name) {
    const double end = now();
    if (rank == 1) printf("touch %s %.9f %.9f\n", name, used - returned, end - called);
}

static void fill(void) {
    memset(data, rank == 0 ? 'a' : '?', bytes);
}
static void check(const char* what) {
    for (int i = 0; i < bytes; ++i) {
        if (data[i] != 'a') return expect(0, what);
    }
}

static void reads_later(void) {
    fill();
    called = now();
    /* mark: reads */
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    returned = now();
    usleep(pause_microseconds);
    used = now();
    check("read");
    print_bounds("reads");
}

static void writes_later(void) {
    fill();
    MPI_Request request;
    called = now();
    /* mark: writes */
    MPI_Ibcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    returned = now();
    usleep(pause_microseconds);
    used = now();
    data[bytes / 2] = 'b';
    print_bounds("writes");
    expect(data[bytes / 2] == 'b' && data[0] == 'a' && data[bytes - 1] == 'a', "write");
}

static void touches_at_once(void) {
    fill();
    called = now();
    /* mark: at once */
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    returned = now();
    used = now();
    check("at once");
    print_bounds("at_once");
    usleep(pause_microseconds);
}

static void never_touches(void) {
    fill();
    called = now();
    /* mark: never */
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    returned = now();
    usleep(pause_microseconds);
    used = now();
    MPI_Barrier(MPI_COMM_WORLD);
    print_bounds("never");
    check("next call");
}

static void* read_all(void* nothing) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    usleep(pause_microseconds);
    used = now();
    check("thread");
    return nothing;
}

static void thread_reads_later(void) {
    fill();
    called = now();
    /* mark: thread */
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    returned = now();
    pthread_t thread;
    pthread_create(&thread, NULL, read_all, NULL);
    pthread_join(thread, NULL);
    print_bounds("thread");
}

/* The kernel must not find guarded pages. */
static void kernel_reads_later(void) {
    fill();
    called = now();
    /* mark: kernel */
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    returned = now();
    usleep(pause_microseconds);
    const int file = memfd_create("touches", 0);
    used = now();
    expect(write(file, data, bytes) == bytes, "write to a file");
    print_bounds("kernel");
    char* const copy = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    expect(memcmp(copy, data, bytes) == 0, "the file's contents");
    munmap(copy, bytes);
    close(file);
}

static void stream_reads(void) {
    fill();
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    FILE* const file = tmpfile();
    expect(file != NULL && fwrite(data, 1, bytes, file) == bytes, "fwrite");
    fclose(file);
}

static void freed(void) {
    char* const more = malloc(8 * bytes);
    /* mark: freed */
    MPI_Bcast(more, 8 * bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    free(more); /* unmaps it */
    char* const other = mmap(NULL, 8 * bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(other != MAP_FAILED && mprotect(other, 8 * bytes, PROT_NONE) == 0, "a mapping of the program");
    munmap(other, 8 * bytes);
}

static void child_reads(void) {
    fill();
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < bytes; ++i) {
            if (data[i] != 'a') _exit(1);
        }
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    expect(status == 0, "a child");
    check("after the child");
}

static void on_fault(int number, siginfo_t* info, void* context) {
    (void)number, (void)info, (void)context;
    faults = faults + 1;
    siglongjmp(back, 1);
}

/* The program's own handler, set before and after the first guard, has its own faults only. */
static void faults_itself(void) {
    char* const nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action, before, now;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    sigaction(SIGSEGV, NULL, &now);
    expect(now.sa_sigaction == on_fault, "the handler that was set");
    for (int i = 0; i < 3; ++i) {
        fill();
        MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (sigsetjmp(back, 1) == 0) nothing[0] = 1;
        check("beside faults");
    }
    expect(faults == 3, "faults of the program");
    sigaction(SIGSEGV, &before, NULL);
}

static void on_stack(void) {
    char local[65536];
    memset(local, rank, sizeof local);
    MPI_Bcast(local, sizeof local, MPI_CHAR, 0, MPI_COMM_WORLD);
    expect(local[1] == 0 && local[65535] == 0, "stack");
}

static void in_shared_memory(void) {
    char* const shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared, rank, bytes);
    MPI_Bcast(shared, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    expect(shared[bytes - 1] == 0, "shared");
    munmap(shared, bytes);
}

static void in_window(void) {
    MPI_Win window;
    MPI_Win_create(data, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    fill();
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    check("window");
    MPI_Win_free(&window);
}

/* Messages from rank 0 that rank 1 reads later. */
static void receives(void) {
    /* mark: receive */
    MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void receives_in_two_calls(void) {
    MPI_Request request;
    /* mark: irecv */
    MPI_Irecv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}
static void receives_persistently(void) {
    MPI_Request request;
    MPI_Recv_init(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    /* mark: persistent */
    MPI_Start(&request);
    int done = 0;
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    returned = now();
    usleep(pause_microseconds);
    used = now();
    check("persistent");
    print_bounds("persistent");
    MPI_Request_free(&request);
}
static void exchanges(void) {
    char nothing = 0;
    /* mark: exchange */
    MPI_Sendrecv(&nothing, 1, MPI_CHAR, MPI_PROC_NULL, 1, data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}
static void message_read_later(const char* name, void (*receive)(void)) {
    fill();
    called = now();
    if (rank == 0) {
        MPI_Send(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else {
        receive();
        if (receive == receives_persistently) return;
        returned = now();
        usleep(pause_microseconds);
        used = now();
        check(name);
        print_bounds(name);
    }
}

/* Rank 0 writes a buffer, and sends it later. */
static void sends(char* buffer) {
    /* mark: send */
    MPI_Send(buffer, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
}
static void sends_in_two_calls(char* buffer) {
    MPI_Request request;
    /* mark: isend */
    MPI_Isend(buffer, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void sends_persistently(char* buffer) {
    MPI_Request request;
    MPI_Ssend_init(buffer, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
    /* mark: persistent send */
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
static void sends_to_all(char* buffer) {
    /* mark: root */
    MPI_Bcast(buffer, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void written_earlier(const char* name, void (*send)(char*)) {
    char* const buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 2; ++round) {
        if (rank == 1) {
            if (send == sends_to_all)
                MPI_Bcast(buffer, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect(buffer[0] == 'x' + round && buffer[bytes - 1] == 'x' + round, name);
            continue;
        }
        memset(buffer, 'x' + round, bytes);
        const double before = now();
        buffer[bytes / 2] = (char)('x' + round);
        const double written = now();
        usleep(pause_microseconds);
        const double calls = now();
        send(buffer);
        if (round == 1) printf("write %s %.9f %.9f\n", name, calls - written, now() - before);
    }
    munmap(buffer, bytes);
}

/* A buffer that is sent to a rank of the same host may be read by a system call of that rank. It must not be
 * guarded: as the gap between columns that were received, or after it was received itself. */
static void peer_reads(void) {
    enum { columns = 3 };
    MPI_Datatype outer;
    MPI_Type_vector(2, bytes, 2 * bytes, MPI_CHAR, &outer);
    MPI_Type_commit(&outer);
    char* const matrix = calloc(columns, bytes);
    memset(matrix + bytes, rank == 0 ? 'm' : '?', bytes);
    MPI_Request request;
    int nothing = 0;
    if (rank == 0) {
        MPI_Isend(matrix + bytes, bytes, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &request);
        /* mark: gap */
        MPI_Recv(matrix, 1, outer, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(pause_microseconds);
        expect(matrix[0] == 'o' && matrix[3 * bytes - 1] == 'o', "columns");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isend(matrix, bytes, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &request);
        MPI_Recv(data, bytes, MPI_CHAR, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(pause_microseconds);
        expect(data[0] == 'm', "sent back");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        memset(matrix, 'o', bytes);
        memset(matrix + 2 * bytes, 'o', bytes);
        MPI_Send(matrix, 1, outer, 0, 4, MPI_COMM_WORLD);
        MPI_Recv(matrix + bytes, bytes, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(matrix[bytes] == 'm' && matrix[2 * bytes - 1] == 'm', "the gap");
        MPI_Send(matrix + bytes, bytes, MPI_CHAR, 0, 4, MPI_COMM_WORLD);
        MPI_Recv(matrix, bytes, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(matrix[0] == 'o' && matrix[bytes - 1] == 'o', "a received buffer");
    }
    MPI_Bcast(&nothing, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Type_free(&outer);
    free(matrix);
}

/* System calls that are made without the C library's functions of that name. */
static void other_system_calls(void) {
    fill();
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    const int file = memfd_create("touches", 0);
    expect(syscall(SYS_write, file, data, bytes) == bytes, "syscall");
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    int ends[2];
    expect(pipe(ends) == 0 && write(ends[1], "four", 4) == 4 && ioctl(ends[0], FIONREAD, data) == 0 &&
               *(int*)data == 4,
           "ioctl");
    close(ends[0]);
    close(ends[1]);
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    struct aiocb control;
    memset(&control, 0, sizeof control);
    control.aio_fildes = file;
    control.aio_buf = data;
    control.aio_nbytes = bytes;
    const struct aiocb* const list[] = {&control};
    expect(aio_write(&control) == 0 && aio_suspend(list, 1, NULL) == 0 && aio_error(&control) == 0 &&
               aio_return(&control) == bytes,
           "asynchronous write");
    close(file);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    reads_later();
    writes_later();
    touches_at_once();
    never_touches();
    thread_reads_later();
    kernel_reads_later();
    stream_reads();
    other_system_calls();
    message_read_later("receive", receives);
    message_read_later("irecv", receives_in_two_calls);
    message_read_later("persistent", receives_persistently);
    message_read_later("exchange", exchanges);
    written_earlier("send", sends);
    written_earlier("isend", sends_in_two_calls);
    written_earlier("persistent_send", sends_persistently);
    written_earlier("root", sends_to_all);
    peer_reads();
    freed();
    child_reads();
    faults_itself();
    on_stack();
    in_shared_memory();
    in_window();
    MPI_Finalize();
    if (!wrong && rank == 0) printf("all right\n");
    return wrong;
}
