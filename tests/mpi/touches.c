/* Buffers that are first used a known time after the calls that fill them, for `lapwing profile
 * --first-touch`. Plain MPI. Exits with 1 if a byte is wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
