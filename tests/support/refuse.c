// refuse CALL[,CALL...][@RANK] COMMAND...: runs COMMAND under a seccomp filter that refuses these system
// calls, as many containers do; with @RANK only where the launcher says that it is that rank.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { max_calls = 8 };

static const struct {
    const char* name;
    unsigned number;
} known[] = {
    {"io_uring_setup", SYS_io_uring_setup},
    {"memfd_create", SYS_memfd_create},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
};

static int find(const char* name) {
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (strcmp(known[i].name, name) == 0) return (int)known[i].number;
    return -1;
}

static int is_rank(const char* rank) {
    const char* own = getenv("OMPI_COMM_WORLD_RANK");
    if (own == NULL) own = getenv("PMI_RANK");
    return own != NULL && strcmp(own, rank) == 0;
}

int main(int count, char** words) {
    struct sock_filter instructions[2 * max_calls + 2];
    unsigned short used = 0;
    if (count < 3) return 2;
    const char* const rank = strchr(words[1], '@');
    if (rank != NULL) words[1][rank - words[1]] = '\0';
    instructions[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (const char* name = strtok(words[1], ","); name != NULL; name = strtok(NULL, ",")) {
        const int number = find(name);
        if (number < 0 || used + 3 > 2 * max_calls + 2) {
            fprintf(stderr, "refuse: %s is not known, or one too many\n", name);
            return 2;
        }
        instructions[used++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
        instructions[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    instructions[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {used, instructions};
    if ((rank == NULL || is_rank(rank + 1)) && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                                                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)) {
        perror("refuse");
        return 2;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 2;
}
