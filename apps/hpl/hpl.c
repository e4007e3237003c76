/* The real HPL, with an MPI_Ibcast for its panels. apps/hpl/build gets HPL from Debian's source package of
 * the HPC Challenge benchmark and links it with this file; HPL's own code is not changed.
 *
 * HPL calls three functions to broadcast a panel: HPL_binit prepares, HPL_bcast makes progress, HPL_bwait
 * ends. The linker gives it those below instead (--wrap). HPL's update of the matrix asks HPL_bcast after
 * each block of columns, as long as the answer is HPL_KEEP_TESTING; else it goes on with one large product.
 *
 *   ring      HPL's own ring of messages
 *   host      MPI_Ibcast, MPI_Test after each block of columns, which the host must do
 *   offload   MPI_Ibcast, and nothing until the panel is needed
 *
 * Compiled with HPL_COPY_L and HPL_NO_MPI_DATATYPE, so that a panel is PANEL->len doubles at PANEL->L2.
 *
 * The calls of HPL and of this file that move data are timed: the linker replaces the MPI's functions by
 * those that TIMED defines. */
#include <getopt.h>
#include <hpl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum { RING, HOST, OFFLOAD } mode = OFFLOAD;
static double seconds_in_mpi;
static int plant_error;

#define TIMED(name, parameters, arguments)         \
    int __real_##name parameters;                  \
    int __wrap_##name parameters {                 \
        const double begin = MPI_Wtime();          \
        const int error = __real_##name arguments; \
        seconds_in_mpi += MPI_Wtime() - begin;     \
        return error;                              \
    }
#define MESSAGE int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
TIMED(MPI_Send, (const void* data, MESSAGE), (data, count, type, peer, tag, comm))
TIMED(MPI_Ssend, (const void* data, MESSAGE), (data, count, type, peer, tag, comm))
TIMED(MPI_Issend, (const void* data, MESSAGE, MPI_Request* request),
      (data, count, type, peer, tag, comm, request))
TIMED(MPI_Recv, (void* data, MESSAGE, MPI_Status* status), (data, count, type, peer, tag, comm, status))
TIMED(MPI_Irecv, (void* data, MESSAGE, MPI_Request* request), (data, count, type, peer, tag, comm, request))
TIMED(MPI_Iprobe, (int peer, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
      (peer, tag, comm, flag, status))
TIMED(MPI_Wait, (MPI_Request * request, MPI_Status* status), (request, status))
TIMED(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status))
TIMED(MPI_Ibcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request),
      (data, count, type, root, comm, request))

static double seconds_in_mpi_of_solver;
void __real_HPL_pdgesv(HPL_T_grid* grid, HPL_T_palg* algorithm, HPL_T_pmat* matrix);
/* What HPL times. */
void __wrap_HPL_pdgesv(HPL_T_grid* grid, HPL_T_palg* algorithm, HPL_T_pmat* matrix) {
    seconds_in_mpi = 0;
    __real_HPL_pdgesv(grid, algorithm, matrix);
    seconds_in_mpi_of_solver = seconds_in_mpi;
}

int __real_HPL_binit(HPL_T_panel* panel);
int __real_HPL_bcast(HPL_T_panel* panel, int* flag);
int __real_HPL_bwait(HPL_T_panel* panel);

int __wrap_HPL_binit(HPL_T_panel* panel) {
    if (mode == RING || panel->grid->npcol <= 1) return __real_HPL_binit(panel);
    HPL_copyL(panel);
    const int error =
        MPI_Ibcast(panel->L2, panel->len, MPI_DOUBLE, panel->pcol, panel->grid->row_comm, panel->request);
    return error == MPI_SUCCESS ? HPL_SUCCESS : HPL_FAILURE;
}

/* HPL calls this without a panel, too, when there is none to send. */
int __wrap_HPL_bcast(HPL_T_panel* panel, int* flag) {
    if (mode == RING || panel == NULL || panel->grid->npcol <= 1) {
        __real_HPL_bcast(panel, flag);
    } else if (mode == OFFLOAD) {
        *flag = HPL_SUCCESS;
    } else {
        int done = 0;
        MPI_Test(panel->request, &done, MPI_STATUS_IGNORE);
        *flag = done ? HPL_SUCCESS : HPL_KEEP_TESTING;
    }
    return *flag;
}

int __wrap_HPL_bwait(HPL_T_panel* panel) {
    if (panel->grid->npcol <= 1) return __real_HPL_bwait(panel);
    int result = HPL_SUCCESS;
    if (mode == RING)
        result = __real_HPL_bwait(panel);
    else if (MPI_Wait(panel->request, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        result = HPL_FAILURE;
    if (plant_error && panel->grid->mycol != panel->pcol) {
        panel->L2[0] += 1;
        plant_error = 0;
    }
    return result;
}

/* HPL asks the rest of the benchmark for defaults when it cannot read its input. */
int HPCC_Defaults(void) {
    fprintf(stderr, "hpl: HPL cannot read its input\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 1;
}

/* HPL reads hpccinf.txt and appends to hpccoutf.txt, in the directory where it runs. */
static void write_input(int n, int block, int columns) {
    FILE* file = fopen("hpccinf.txt", "w");
    if (file == NULL) {
        perror("hpl: hpccinf.txt");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fprintf(file,
            "one\ntwo\nHPL.out\n8\n1 sizes\n%d\n1 blocks\n%d\n0 mapping\n1 grids\n1\n%d\n16.0 "
            "threshold\n1\n2 right\n1\n"
            "4 least block\n1\n2 parts\n1\n1 Crout\n1 broadcasts\n0 ring\n1 depths\n1\n2 swap\n64\n0\n0\n1 "
            "equilibration\n"
            "8 alignment\n",
            n, block, columns);
    fclose(file);
}

static void usage(void) {
    printf(
        "The real HPL on one row of ranks; MPI_Ibcast sends its panels.\n"
        "Usage: hpl [OPTIONS]\n\n"
        "  --n N             equations (1000)\n"
        "  --block N         columns of a panel (64)\n"
        "  --mode MODE       ring, host or offload (offload)\n"
        "  --plant-error     change one received number: the check must fail\n");
}

int main(int argc, char** argv) {
    static int help;
    static const struct option known[] = {{"n", 1, NULL, 'n'},    {"block", 1, NULL, 'b'},
                                          {"mode", 1, NULL, 'm'}, {"plant-error", 0, &plant_error, 1},
                                          {"help", 0, &help, 1},  {NULL, 0, NULL, 0}};
    static const char* const modes[] = {"ring", "host", "offload"};
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int n = 1000, block = 64, wrong = 0;
    opterr = rank == 0;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'n') n = atoi(optarg);
        if (option == 'b') block = atoi(optarg);
        if (option == 'm')
            for (mode = RING; mode <= OFFLOAD && strcmp(optarg, modes[mode]) != 0;) ++mode;
        wrong |= option != 0 && strchr("nbm", option) == NULL;
    }
    plant_error &= rank == ranks - 1;
    if (help) {
        if (rank == 0) usage();
        MPI_Finalize();
        return 0;
    }
    if (wrong || mode > OFFLOAD || n < 1 || block < 1 || optind < argc) {
        if (rank == 0) fprintf(stderr, "hpl: wrong options; see --help\n");
        MPI_Finalize();
        return 2;
    }
    char directory[4096];
    snprintf(directory, sizeof directory, "%s/hpl-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    // Rank 0 alone reads and writes.
    if (rank == 0) {
        if (mkdtemp(directory) == NULL || chdir(directory) != 0) {
            perror(directory);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        write_input(n, block, ranks);
    }
    HPL_RuntimeData data;
    memset(&data, 0, sizeof data);
    int failure = 0;
    HPL_main(argc, argv, &data, &failure);
    double of_all;
    MPI_Reduce(&seconds_in_mpi_of_solver, &of_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    int status = 0;
    if (rank == 0) {
        // HPL's own check, from its norms.
        const double residual = data.RnormI / (data.eps * (data.AnormI * data.XnormI + data.BnormI) * n);
        const int passed = data.Gflops > 0 && residual < 16;
        printf(
            "hpl, %s, %d ranks: n %d, block %d\n  %.4f s, of which %.4f s in MPI calls: %.3f GFlop/s\n"
            "  verification: %s, residual %.4g\n",
            modes[mode], ranks, n, block, data.time, of_all / ranks, data.Gflops,
            passed ? "passed" : "FAILED", residual);
        status = !passed;
        unlink("hpccinf.txt");
        unlink("hpccoutf.txt");
        if (chdir("/") == 0) rmdir(directory);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
