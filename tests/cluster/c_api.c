// One rank of groups of the C API, by each engine: c-api DIRECTORY RANK SIZE. Says how its host's ranks
// exchange messages, and whether all data was right.
#include <lapwing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, exchanges;
static const char* directory;

static int exchange(void* context, const void* block, void* blocks, size_t bytes) {
    char name[4096], ready[4096];
    (void)context;
    ++exchanges;
    snprintf(name, sizeof name, "%s/%d.%d.part", directory, exchanges, rank);
    snprintf(ready, sizeof ready, "%s/%d.%d", directory, exchanges, rank);
    FILE* file = fopen(name, "wb");
    if (file == NULL || fwrite(block, bytes, 1, file) != 1 || fclose(file) != 0) return 1;
    if (rename(name, ready) != 0) return 1;
    for (int other = 0; other < size; ++other) {
        snprintf(ready, sizeof ready, "%s/%d.%d", directory, exchanges, other);
        while ((file = fopen(ready, "rb")) == NULL) usleep(1000);
        if (fread((char*)blocks + (size_t)other * bytes, bytes, 1, file) != 1) return 1;
        fclose(file);
    }
    return 0;
}

static void check(lapwing_status status) {
    if (status == LAPWING_SUCCESS) return;
    printf("rank %d: %s: %s\n", rank, lapwing_status_name(status), lapwing_message());
    exit(1);
}

static unsigned char value(int from, int to, size_t i) {
    return (unsigned char)((size_t)from * 50 + (size_t)to * 7 + i);
}

static int all_to_all(lapwing_group* group, size_t bytes) {
    unsigned char* in = malloc(bytes * (size_t)size);
    unsigned char* out = malloc(bytes * (size_t)size);
    lapwing_operation* operation;
    int right = 1;
    for (int peer = 0; peer < size; ++peer)
        for (size_t i = 0; i < bytes; ++i) in[(size_t)peer * bytes + i] = value(rank, peer, i);
    check(lapwing_alltoall(group, in, out, bytes, &operation));
    check(lapwing_wait(&operation));
    for (int peer = 0; peer < size; ++peer)
        for (size_t i = 0; i < bytes; ++i)
            right = right && out[(size_t)peer * bytes + i] == value(peer, rank, i);
    free(in);
    free(out);
    return right;
}

static int sum(lapwing_group* group) {
    const double mine = rank + 1;
    double all = 0;
    const lapwing_reduction add = {.type = LAPWING_FLOAT64, .op = LAPWING_SUM};
    lapwing_operation* operation;
    check(lapwing_allreduce(group, &mine, &all, 1, &add, &operation));
    check(lapwing_wait(&operation));
    return all == size * (size + 1) / 2.0;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    directory = words[1];
    rank = atoi(words[2]);
    size = atoi(words[3]);
    const char* const engines[] = {"engine=host", "engine=kernel"};
    for (int i = 0; i < 2; ++i) {
        const char* const options[] = {engines[i], NULL};
        lapwing_group* group;
        check(lapwing_group_create(rank, size, exchange, NULL, options, &group));
        int right = 1;
        for (int times = 0; times < 5; ++times)
            right = sum(group) && all_to_all(group, 8) && all_to_all(group, 100000) && right;
        printf("rank %d, %s: %s: %s\n", rank, engines[i], lapwing_group_inside_host(group),
               right ? "right" : "WRONG");
        check(lapwing_group_destroy(group));
    }
    return 0;
}
