// A random, correct program of communicators: made in every way that MPI has, used by collectives, and freed,
// also with collectives in flight. Each collective's result is compared with what it must be.
//   communicators-<mpi> SEED THREADS [spawn | session | sessions | sessions_once | sessions_outlive]
// THREADS 0: one thread, MPI_THREAD_SINGLE. Otherwise this number of threads run such a program at once, each
// on a duplicate of MPI_COMM_WORLD of its own.
//   spawn     MPI_COMM_WORLD spawns two ranks; the program runs on all ranks, merged, and on MPI_COMM_WORLD
//   session   the program runs on a session's communicator, and on MPI_COMM_WORLD
//   sessions  the program runs on the communicators of two sessions, without MPI_Init
//   sessions_once     of one session
//   sessions_outlive  of one session, which begins before MPI_Finalize and goes on after it
// Rank 0 prints "ok" at the end.
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "persistent_forms.hpp"
#include "random_collective.hpp"

namespace {

std::atomic<int> wrong{0};
// MPI_Comm_split_type of ranks of several jobs hangs in Open MPI 4.1 and in MPICH 5.0.
bool several_jobs = false;

void check(bool right, const char* what) {
    if (right) return;
    ++wrong;
    std::printf("%s: wrong result\n", what);
    std::fflush(stdout);
}

using InFlight = std::vector<RandomCollective>;

// In any order.
void wait_for(InFlight& collectives) {
    for (; !collectives.empty(); collectives.pop_back()) {
        MPI_Wait(&collectives.back().request, MPI_STATUS_IGNORE);
        check(collectives.back().right(), "nonblocking");
    }
}

void persistent(MPI_Comm communicator) {
    int in = rank_in(communicator);
    int out = -1;
    const int ranks = size_of(communicator);
    MPI_Request request = MPI_REQUEST_NULL;
    PERSISTENT(Allreduce)(&in, &out, 1, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; ++i) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(out == ranks * (ranks - 1) / 2, "persistent");
        out = -1;
    }
    MPI_Request_free(&request);
}

int attribute_deleted(MPI_Comm, int, void* value, void*) {
    ++*static_cast<std::atomic<int>*>(value);
    return MPI_SUCCESS;
}
std::atomic<int> attributes{0};

MPI_Group first_ranks(MPI_Comm communicator, int count) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm_group(communicator, &all);
    int range[1][3] = {{0, count - 1, 1}};
    MPI_Group_range_incl(all, 1, range, &some);
    MPI_Group_free(&all);
    return some;
}

// A copy of an intercommunicator, in one of three ways.
MPI_Comm copied(MPI_Comm both, int way) {
    MPI_Comm made = MPI_COMM_NULL;
    if (way == 0) MPI_Comm_dup(both, &made);
    if (way == 1) MPI_Comm_split(both, 0, rank_in(both), &made);
    if (way == 2) {
        MPI_Group own = MPI_GROUP_NULL;
        MPI_Comm_group(both, &own);
        MPI_Comm_create(both, own, &made);
        MPI_Group_free(&own);
    }
    return made;
}

// Two halves of a communicator meet in an intercommunicator, which is merged.
MPI_Comm merged(MPI_Comm communicator, int tag) {
    const int ranks = size_of(communicator);
    MPI_Comm made = MPI_COMM_NULL;
    if (ranks < 2) {
        MPI_Comm_dup(communicator, &made);
        return made;
    }
    const bool low = rank_in(communicator) < ranks / 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Comm_split(communicator, low ? 0 : 1, 0, &half);
    MPI_Intercomm_create(half, 0, communicator, low ? ranks / 2 : 0, tag, &both);
    int in = 1;
    int out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, both);
    check(out == (low ? ranks - ranks / 2 : ranks / 2), "intercommunicator");
    MPI_Comm copy = copied(both, tag % 3);
    MPI_Request request = MPI_REQUEST_NULL;
    int again = 0;
    MPI_Iallreduce(&in, &again, 1, MPI_INT, MPI_SUM, copy, &request);
    MPI_Intercomm_merge(both, low ? 0 : 1, &made);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(again == out, "copy of an intercommunicator");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    return made;
}

// Null on ranks that are not in it. `group`: which one of several that are made at once this rank is in.
MPI_Comm make(MPI_Comm communicator, Random& random, int* group) {
    const int rank = rank_in(communicator);
    int ranks = size_of(communicator);
    MPI_Comm made = MPI_COMM_NULL;
    *group = 0;
    // Random on its own, but equal on all ranks.
    const int way = random.below(several_jobs ? 14 : 15);
    const int modulus = 1 + random.below(ranks);
    const int tag = random.below(1000);
    const bool flag = random.one_in(2);
    if (way == 0) MPI_Comm_dup(communicator, &made);
    if (way == 1) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_idup(communicator, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (way == 2) MPI_Comm_dup_with_info(communicator, MPI_INFO_NULL, &made);
    if (way == 3 || way == 4) {
        *group = rank % modulus;
        MPI_Comm_split(communicator, *group, flag ? rank : -rank, &made);
    }
    if (way == 5) {
        *group = rank < modulus ? 0 : MPI_UNDEFINED;
        MPI_Comm_split(communicator, *group, 0, &made);
    }
    if (way == 6) {
        MPI_Group some = first_ranks(communicator, modulus);
        MPI_Comm_create(communicator, some, &made);
        MPI_Group_free(&some);
    }
    if (way == 7) {
        MPI_Group some = first_ranks(communicator, modulus);
        if (rank < modulus) MPI_Comm_create_group(communicator, some, tag, &made);
        MPI_Group_free(&some);
    }
    if (way == 8) {
        const int periods[1] = {1};
        MPI_Cart_create(communicator, 1, &ranks, periods, 0, &made);
    }
    if (way == 9) {
        const int before[1] = {(rank + ranks - 1) % ranks};
        const int after[1] = {(rank + 1) % ranks};
        MPI_Dist_graph_create_adjacent(communicator, 1, before, MPI_UNWEIGHTED, 1, after, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &made);
    }
    if (way == 10) made = merged(communicator, tag);
    if (way == 11) {
        // A ring of the first ranks. A ring of one rank or of two ranks has one edge twice.
        std::vector<int> index, edges;
        for (int i = 0; i < modulus; ++i) {
            edges.insert(edges.end(), {(i + modulus - 1) % modulus, (i + 1) % modulus});
            index.push_back(2 * (i + 1));
        }
        MPI_Graph_create(communicator, modulus, index.data(), edges.data(), flag ? 1 : 0, &made);
    }
    if (way == 12) {
        // Rank 0 names all edges of a ring.
        std::vector<int> from, degrees, to;
        for (int i = 0; rank == 0 && i < ranks; ++i) {
            from.push_back(i);
            degrees.push_back(1);
            to.push_back((i + 1) % ranks);
        }
        MPI_Dist_graph_create(communicator, static_cast<int>(from.size()), from.data(), degrees.data(),
                              to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    }
    if (way == 13) {
        // A column of a grid.
        const int sizes[2] = {modulus, ranks / modulus};
        const int periods[2] = {0, 1};
        const int kept[2] = {1, 0};
        MPI_Comm grid = MPI_COMM_NULL;
        MPI_Cart_create(communicator, 2, sizes, periods, 0, &grid);
        if (grid != MPI_COMM_NULL) {
            *group = rank_in(grid) % sizes[1];
            MPI_Cart_sub(grid, kept, &made);
            MPI_Comm_free(&grid);
        }
    }
    if (way == 14) {
        MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
        // Which ranks are in it depends on the hosts.
        if (made != MPI_COMM_NULL) {
            *group = rank;
            MPI_Bcast(group, 1, MPI_INT, 0, made);
        }
    }
    return made;
}

// NOLINTNEXTLINE(misc-no-recursion)
void live(MPI_Comm communicator, Random random, int depth) {
    InFlight in_flight;
    const int steps = 2 + random.below(4);
    for (int step = 0; step < steps; ++step) {
        switch (random.below(depth > 0 ? 4 : 2)) {
            case 0:
            case 1:
                in_flight.emplace_back(communicator, random, 1);
                break;
            default: {
                int group = 0;
                MPI_Comm made = make(communicator, random, &group);
                const std::uint64_t seed = random.seed() + static_cast<std::uint64_t>(group);
                const bool named = random.one_in(4);
                const bool with_attribute = random.one_in(4);
#ifdef OPEN_MPI
                const bool in_use = false;  // Open MPI 4.1 crashes
#else
                const bool in_use = random.one_in(2);
#endif
                if (made == MPI_COMM_NULL) break;
                if (named) MPI_Comm_set_name(made, "made");
                if (with_attribute) {
                    int key = MPI_KEYVAL_INVALID;
                    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, attribute_deleted, &key, nullptr);
                    MPI_Comm_set_attr(made, key, &attributes);
                    MPI_Comm_free_keyval(&key);
                }
                live(made, Random(seed), depth - 1);
                Random last(seed + 1);
                if (last.one_in(3)) persistent(made);
                // The program may free what is in use.
                if (in_use) in_flight.emplace_back(made, last, 1);
                MPI_Comm_free(&made);
            }
        }
        // Ranks draw the same numbers, also those that are not in a communicator which is in use.
        const bool now = random.one_in(3);
        if (now || in_flight.size() > 3) wait_for(in_flight);
    }
    wait_for(in_flight);
}

// Rank 0 prints the result.
void conclude(MPI_Comm communicator) {
    int all = 0;
    const int mine = wrong;
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, communicator);
    if (rank_in(communicator) == 0) std::puts(all == 0 ? "ok" : "WRONG");
}

#if MPI_VERSION >= 4
// `outlives`: the session goes on after MPI_Finalize.
void live_in_session(Random random, bool last, bool outlives = false) {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "lapwing-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Group_free(&group);
    live(made, random, 3);
    if (outlives) {
        MPI_Finalize();
        live(made, random, 3);
    }
    if (last) conclude(made);
    MPI_Comm_free(&made);
    MPI_Session_finalize(&session);
}
#endif

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    const std::string origin = argc > 3 ? argv[3] : "";
#if MPI_VERSION >= 4
    if (origin.starts_with("sessions")) {
        if (origin == "sessions") live_in_session(Random(seed + 1), false);
        if (origin == "sessions_outlive") MPI_Init(nullptr, nullptr);
        live_in_session(Random(seed), true, origin == "sessions_outlive");
        return wrong == 0 ? 0 : 1;
    }
#endif
    const int needed = count > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, needed, &provided);
    if (provided < needed) {
        if (rank_in(MPI_COMM_WORLD) == 0) std::puts("no threads");
    } else if (count > 0) {
        std::vector<MPI_Comm> bases(static_cast<std::size_t>(count), MPI_COMM_NULL);
        for (MPI_Comm& base : bases) MPI_Comm_dup(MPI_COMM_WORLD, &base);
        std::vector<std::thread> running;
        for (std::size_t i = 0; i < bases.size(); ++i)
            running.emplace_back([&, i] { live(bases[i], Random(seed * 100 + i), 2); });
        for (std::thread& thread : running) thread.join();
        for (MPI_Comm& base : bases) MPI_Comm_free(&base);
    } else if (origin == "spawn") {
        MPI_Comm parent = MPI_COMM_NULL;
        MPI_Comm_get_parent(&parent);
        const bool spawned = parent != MPI_COMM_NULL;
        several_jobs = true;
        if (!spawned)
            MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent,
                           MPI_ERRCODES_IGNORE);
        MPI_Comm whole = MPI_COMM_NULL;
        MPI_Intercomm_merge(parent, spawned ? 1 : 0, &whole);
        live(whole, Random(seed), 2);
        live(MPI_COMM_WORLD, Random(seed + (spawned ? 1 : 2)), 2);
        conclude(whole);
        MPI_Comm_free(&whole);
        MPI_Comm_disconnect(&parent);
    } else {
#if MPI_VERSION >= 4
        if (origin == "session") live_in_session(Random(seed + 1), false);
#endif
        live(MPI_COMM_WORLD, Random(seed), 3);
    }
    if (origin != "spawn") conclude(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
