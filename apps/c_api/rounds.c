/* Sums and transposes without MPI: the ranks are processes that this program starts itself, on one machine.
 *
 *   c_api_rounds [RANKS] [ROUNDS]
 *
 * In each round every rank sends a block to every other one (lapwing_alltoall, from a plan that is started
 * again and again) and sums what it has got in the round before (lapwing_allreduce), while the next blocks
 * travel. The processes find each other over socket pairs to their parent: its part of the exchange function
 * is gather_and_answer(). */
#include <lapwing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 1024 }; /* doubles that a rank has for each other one */

static int move_all(int descriptor, void* memory, size_t bytes, int reads) {
    char* at = memory;
    while (bytes > 0) {
        const ssize_t moved = reads ? read(descriptor, at, bytes) : send(descriptor, at, bytes, MSG_NOSIGNAL);
        if (moved <= 0) return 1;
        at += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

struct place {
    int parent; /* a socket */
    int size;
};

/* A child's part of the exchange: its block to the parent, all blocks from there. */
static int exchange(void* context, const void* block, void* blocks, size_t bytes) {
    const struct place* place = context;
    if (move_all(place->parent, &bytes, sizeof bytes, 0) != 0) return 1;
    if (move_all(place->parent, (void*)block, bytes, 0) != 0) return 1;
    return move_all(place->parent, blocks, bytes * (size_t)place->size, 1);
}

/* The parent's part. A child that has ended shows as a closed socket: then all are left, and fail. */
static int gather_and_answer(const int* children, int size) {
    char* blocks = NULL;
    size_t bytes = 0;
    int failed = 0;
    for (int rank = 0; rank < size && !failed; ++rank) {
        failed = move_all(children[rank], &bytes, sizeof bytes, 1);
        if (!failed && blocks == NULL) blocks = malloc(bytes * (size_t)size);
        if (blocks == NULL) break;
        if (!failed) failed = move_all(children[rank], blocks + bytes * (size_t)rank, bytes, 1);
    }
    failed = failed || blocks == NULL;
    for (int rank = 0; rank < size && !failed; ++rank)
        failed = move_all(children[rank], blocks, bytes * (size_t)size, 0);
    free(blocks);
    return failed;
}

/* Ends the process; the others learn of it. */
static void check(lapwing_status status, const char* what) {
    if (status == LAPWING_SUCCESS) return;
    fprintf(stderr, "%s: %s: %s\n", what, lapwing_status_name(status), lapwing_message());
    exit(1);
}

static double value(int from, int to, int round, int i) {
    return from * 1000 + to + round * 1e-3 + i * 1e-6;
}

static int run(int rank, int size, int rounds, int parent) {
    struct place place = {parent, size};
    lapwing_group* group = NULL;
    check(lapwing_group_create(rank, size, exchange, &place, NULL, &group), "group");

    lapwing_problem problem = lapwing_problem_of(LAPWING_ALLTOALL);
    problem.bytes = BLOCK * sizeof(double);
    lapwing_plan* plan = NULL;
    check(lapwing_plan_create(group, &problem, &plan), "plan");
    if (rank == 0) printf("%d ranks: alltoall by %s\n", size, lapwing_plan_text(plan));

    const size_t all = (size_t)size * BLOCK;
    double* in = calloc(2 * all, sizeof *in); /* two rounds: one is filled while the other travels */
    double* out = calloc(2 * all, sizeof *out);
    if (in == NULL || out == NULL) check(LAPWING_NO_MEMORY, "buffers");
    const lapwing_reduction sum = {.type = LAPWING_FLOAT64, .op = LAPWING_SUM};
    lapwing_operation* travelling[2] = {NULL, NULL};
    int errors = 0;
    for (int round = 0; round <= rounds; ++round) {
        const size_t now = (size_t)(round % 2) * all;
        if (round < rounds) {
            for (int to = 0; to < size; ++to)
                for (int i = 0; i < BLOCK; ++i)
                    in[now + (size_t)(to * BLOCK + i)] = value(rank, to, round, i);
            check(lapwing_start(plan, in + now, out + now, &travelling[round % 2]), "start");
        }
        if (round == 0) continue;
        /* The round before: its blocks have arrived, the sum of them is compared with that of all ranks. */
        const size_t before = all - now;
        check(lapwing_wait(&travelling[1 - round % 2]), "wait");
        double own = 0;
        double expected = 0;
        for (int from = 0; from < size; ++from) {
            for (int i = 0; i < BLOCK; ++i) {
                const double got = out[before + (size_t)(from * BLOCK + i)];
                errors += got != value(from, rank, round - 1, i);
                own += got;
                for (int to = 0; to < size; ++to) expected += value(from, to, round - 1, i);
            }
        }
        double total = 0;
        lapwing_operation* summing = NULL;
        check(lapwing_allreduce(group, &own, &total, 1, &sum, &summing), "allreduce");
        check(lapwing_wait(&summing), "wait");
        errors += total < expected * (1 - 1e-9) || total > expected * (1 + 1e-9);
    }
    if (rank == 0) printf("%d rounds, %d errors\n", rounds, errors);
    free(in);
    free(out);
    check(lapwing_plan_destroy(plan), "plan");
    check(lapwing_group_destroy(group), "group");
    return errors > 0;
}

int main(int count, char** words) {
    const int size = count > 1 ? atoi(words[1]) : 4;
    const int rounds = count > 2 ? atoi(words[2]) : 100;
    if (size < 1 || size > 64 || rounds < 1) {
        fprintf(stderr, "usage: c_api_rounds [RANKS, to 64] [ROUNDS]\n");
        return 2;
    }
    int children[64];
    for (int rank = 0; rank < size; ++rank) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
            perror("socketpair");
            return 1;
        }
        const pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 1;
        }
        if (child == 0) {
            for (int other = 0; other < rank; ++other) close(children[other]);
            close(pair[0]);
            return run(rank, size, rounds, pair[1]);
        }
        close(pair[1]);
        children[rank] = pair[0];
    }
    /* A group of one exchanges nothing. */
    int failed = size > 1 ? gather_and_answer(children, size) : 0;
    for (int rank = 0; rank < size; ++rank) close(children[rank]);
    for (int rank = 0; rank < size; ++rank) {
        int status = 0;
        wait(&status);
        failed = failed || status != 0;
    }
    return failed;
}
