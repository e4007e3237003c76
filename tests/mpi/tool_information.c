/* A reader of MPI_T, written from MPI 4.0, chapter 15: it lists all variables and categories, reads all that
 * can be read, and reads Lapwing's before and after collectives. Rank 0 prints what it finds, a line each,
 * with fields between tabs: cvar INDEX NAME VALUE    pvar INDEX NAME CLASS    category INDEX NAME CVARS PVARS
 * value NAME BEFORE AFTER and "wrong: ..." where the MPI does not do what the standard says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank = 0;
static void wrong(const char* what, const char* name, int value) {
    printf("wrong: %s: %s: %d\n", what, name, value);
}
#define EXPECT(condition, name)                              \
    do {                                                     \
        if (!(condition)) wrong(#condition, name, __LINE__); \
    } while (0)
#define OK(call, name)                                         \
    do {                                                       \
        const int error_ = (call);                             \
        if (error_ != MPI_SUCCESS) wrong(#call, name, error_); \
    } while (0)

enum { name_room = 512 };

static void list_controls(int alone) {
    int all = 0;
    OK(MPI_T_cvar_get_num(&all), "cvars");
    for (int i = 0; i < all; ++i) {
        char name[name_room], description[4 * name_room];
        int name_length = sizeof name, description_length = sizeof description, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum kinds;
        const int error = MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &kinds, description,
                                              &description_length, &bind, &scope);
        if (error != MPI_SUCCESS) continue; /* a variable of the MPI that has become invalid */
        EXPECT(name_length == (int)strlen(name) + 1, name);
        int found = -1, needed = 0;
        OK(MPI_T_cvar_get_index(name, &found), name);
        EXPECT(found == i, name);
        /* Only the length. */
        OK(MPI_T_cvar_get_info(i, NULL, &needed, &verbosity, &type, &kinds, NULL, NULL, &bind, &scope), name);
        EXPECT(needed == name_length, name);
        if (strncmp(name, "LAPWING_", 8) != 0) {
            if (rank == 0) printf("cvar\t%d\t%s\t\n", i, name);
            continue;
        }
        /* A buffer that is too short. */
        char three[3] = "";
        int short_length = 3;
        OK(MPI_T_cvar_get_info(i, three, &short_length, &verbosity, &type, &kinds, NULL, NULL, &bind, &scope),
           name);
        EXPECT(strcmp(three, "LA") == 0, name);
        EXPECT(type == MPI_CHAR && bind == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_CONSTANT, name);
        EXPECT(kinds == MPI_T_ENUM_NULL && description_length > 10, name);
        MPI_T_cvar_handle handle;
        int count = 0;
        OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count), name);
        char* value = malloc((size_t)count + 1);
        OK(MPI_T_cvar_read(handle, value), name);
        EXPECT((int)strlen(value) + 1 == count, name);
        EXPECT(MPI_T_cvar_write(handle, value) == MPI_T_ERR_CVAR_SET_NEVER, name);
        if (rank == 0) printf("cvar\t%d\t%s\t%s\n", i, name, value);
        OK(MPI_T_cvar_handle_free(&handle), name);
        EXPECT(handle == MPI_T_CVAR_HANDLE_NULL, name);
        free(value);
    }
    /* MPICH 4.0 itself does not survive such an index. */
    if (alone) return;
    int none = 0;
    MPI_Datatype no_type;
    MPI_T_enum no_kinds;
    EXPECT(MPI_T_cvar_get_info(all, NULL, NULL, &none, &no_type, &no_kinds, NULL, NULL, &none, &none) !=
               MPI_SUCCESS,
           "beyond the last cvar");
    EXPECT(MPI_T_cvar_get_index("no such variable", &none) != MPI_SUCCESS, "no such cvar");
}

static void list_performance(int alone) {
    int all = 0;
    OK(MPI_T_pvar_get_num(&all), "pvars");
    for (int i = 0; i < all; ++i) {
        char name[name_room], description[4 * name_room];
        int name_length = sizeof name, description_length = sizeof description;
        int verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum kinds;
        const int error =
            MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &kinds, description,
                                &description_length, &bind, &readonly, &continuous, &atomic);
        if (error != MPI_SUCCESS) continue;

        int found = -1;
        OK(MPI_T_pvar_get_index(name, class, &found), name);
        EXPECT(found == i, name);
        if (strncmp(name, "lapwing_", 8) == 0) {
            EXPECT(class == (type == MPI_DOUBLE ? MPI_T_PVAR_CLASS_TIMER : MPI_T_PVAR_CLASS_COUNTER), name);
            EXPECT(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_STATE, &found) != MPI_SUCCESS, name);
            EXPECT(type == MPI_DOUBLE || type == MPI_UNSIGNED_LONG_LONG, name);
            EXPECT(bind == MPI_T_BIND_NO_OBJECT && readonly == 0 && continuous == 0 && atomic == 1, name);
        }
        if (rank == 0) printf("pvar\t%d\t%s\t%d\n", i, name, class);
    }
    /* MPICH 4.0 itself does not survive such an index. */
    if (alone) return;
    int none = 0;
    MPI_Datatype no_type;
    MPI_T_enum no_kinds;
    EXPECT(MPI_T_pvar_get_info(all, NULL, NULL, &none, &none, &no_type, &no_kinds, NULL, NULL, &none, &none,
                               &none, &none) != MPI_SUCCESS,
           "beyond the last pvar");
}

static void list_categories(void) {
    int all = 0, controls = 0, performances = 0;
    OK(MPI_T_category_get_num(&all), "categories");
    OK(MPI_T_cvar_get_num(&controls), "cvars");
    OK(MPI_T_pvar_get_num(&performances), "pvars");
    for (int i = 0; i < all; ++i) {
        /* MPICH 4.0 must not get null for the description. */
        char name[name_room], description[4 * name_room];
        int name_length = sizeof name, description_length = sizeof description;
        int cvars = 0, pvars = 0, categories = 0, found = -1;
        /* Open MPI 4 keeps categories that have become invalid. */
        if (MPI_T_category_get_info(i, name, &name_length, description, &description_length, &cvars, &pvars,
                                    &categories) != MPI_SUCCESS)
            continue;
        if (strcmp(name, "lapwing") == 0) {
            OK(MPI_T_category_get_index(name, &found), name);
            EXPECT(found == i, name);
        }
        int* indices = malloc(sizeof(int) * (size_t)(cvars + pvars + categories + 1));
        OK(MPI_T_category_get_cvars(i, cvars, indices), name);
        for (int n = 0; n < cvars; ++n) EXPECT(indices[n] >= 0 && indices[n] < controls, name);
        OK(MPI_T_category_get_pvars(i, pvars, indices), name);
        for (int n = 0; n < pvars; ++n) EXPECT(indices[n] >= 0 && indices[n] < performances, name);
        OK(MPI_T_category_get_categories(i, categories, indices), name);
        for (int n = 0; n < categories; ++n) EXPECT(indices[n] >= 0 && indices[n] < all, name);
        free(indices);
        if (rank == 0) printf("category\t%d\t%s\t%d\t%d\n", i, name, cvars, pvars);
    }
}

/* The first counter of the MPI that a tool may start by itself: it must still work beside Lapwing's. */
static int native_variable(int* size) {
    int all = 0;
    MPI_T_pvar_get_num(&all);
    for (int i = 0; i < all; ++i) {
        char name[name_room], description[4 * name_room];
        int name_length = sizeof name, description_length = sizeof description;
        int verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum kinds;
        if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &kinds, description,
                                &description_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        if (strncmp(name, "lapwing_", 8) == 0 || bind != MPI_T_BIND_NO_OBJECT) continue;
        MPI_Type_size(type, size);
        return i;
    }
    return -1;
}

static double read_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int timer) {
    double seconds = 0;
    unsigned long long count = 0;
    OK(MPI_T_pvar_read(session, handle, timer ? (void*)&seconds : (void*)&count), "read");
    return timer ? seconds : (double)count;
}

static void collectives(int times) {
    char sent[64] = "", received[64] = "";
    for (int i = 0; i < times; ++i) {
        MPI_Request request;
        MPI_Ialltoall(sent, 8, MPI_CHAR, received, 8, MPI_CHAR, MPI_COMM_WORLD, &request);
        usleep(2000);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char** argv) {
    int provided = 0, all = 0;
    EXPECT(MPI_T_pvar_get_num(&all) == MPI_T_ERR_NOT_INITIALIZED, "before MPI_T_init_thread");
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "init");
    /* Indices that are known before MPI_Init keep their meaning. */
    int early_control = -1, early_counter = -1, late = -1;
    if (argc == 1) {
        OK(MPI_T_cvar_get_index("LAPWING_ENGINE", &early_control), "LAPWING_ENGINE");
        OK(MPI_T_pvar_get_index("lapwing_alltoall_calls", MPI_T_PVAR_CLASS_COUNTER, &early_counter),
           "counter");
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int alone = argc > 1; /* without Lapwing: only the lists */
    list_controls(alone);
    list_performance(alone);
    list_categories();
    if (alone) {
        MPI_Finalize();
        return 0;
    }

    OK(MPI_T_cvar_get_index("LAPWING_ENGINE", &late), "LAPWING_ENGINE");
    EXPECT(late == early_control, "LAPWING_ENGINE");
    OK(MPI_T_pvar_get_index("lapwing_alltoall_calls", MPI_T_PVAR_CLASS_COUNTER, &late), "counter");
    EXPECT(late == early_counter, "counter");

    enum { variables = 4 };
    const char* const names[variables] = {"lapwing_alltoall_calls", "lapwing_calls",
                                          "lapwing_alltoall_bytes_sent", "lapwing_alltoall_hidden_time"};
    collectives(3); /* of which no handle must know: they are not started yet */
    MPI_T_pvar_session session, other;
    OK(MPI_T_pvar_session_create(&session), "session");
    OK(MPI_T_pvar_session_create(&other), "session");
    MPI_T_pvar_handle handles[variables], native = MPI_T_PVAR_HANDLE_NULL;
    double before[variables];
    for (int i = 0; i < variables; ++i) {
        int index = -1, count = 0;
        OK(MPI_T_pvar_get_index(names[i], i == 3 ? MPI_T_PVAR_CLASS_TIMER : MPI_T_PVAR_CLASS_COUNTER, &index),
           names[i]);
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count), names[i]);
        EXPECT(count == 1, names[i]);
        before[i] = read_value(session, handles[i], i == 3);
    }
    int size = 0, native_count = 0;
    const int native_index = native_variable(&size);
    if (native_index >= 0)
        OK(MPI_T_pvar_handle_alloc(session, native_index, NULL, &native, &native_count), "native");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), "all handles");
    collectives(5);
    OK(MPI_T_pvar_stop(session, handles[1]), names[1]);
    collectives(2);
    for (int i = 0; i < variables; ++i) {
        if (rank == 0)
            printf("value\t%s\t%g\t%g\n", names[i], before[i], read_value(session, handles[i], i == 3));
    }
    if (native_index >= 0) {
        char* value = calloc((size_t)native_count + 1, (size_t)size);
        OK(MPI_T_pvar_read(session, native, value), "native");
        free(value);
    }
    /* Of another session. */
    unsigned long long number = 7;
    EXPECT(MPI_T_pvar_read(other, handles[0], &number) != MPI_SUCCESS, "another session");
    OK(MPI_T_pvar_readreset(session, handles[0], &number), names[0]);
    EXPECT(number == 7, names[0]);
    EXPECT(read_value(session, handles[0], 0) == 0, names[0]);
    collectives(1);
    EXPECT(read_value(session, handles[0], 0) == 1, names[0]);
    number = 40;
    OK(MPI_T_pvar_write(session, handles[0], &number), names[0]);
    collectives(2);
    EXPECT(read_value(session, handles[0], 0) == 42, names[0]);
    OK(MPI_T_pvar_reset(session, handles[0]), names[0]);
    EXPECT(read_value(session, handles[0], 0) == 0, names[0]);
    OK(MPI_T_pvar_handle_free(session, &handles[0]), names[0]);
    EXPECT(handles[0] == MPI_T_PVAR_HANDLE_NULL, names[0]);
    OK(MPI_T_pvar_session_free(&session), "session");
    OK(MPI_T_pvar_session_free(&other), "session");
    /* After MPI_Finalize, Open MPI 4.1 would crash in it. */
    OK(MPI_T_finalize(), "finalize");
    MPI_Finalize();
    return 0;
}
