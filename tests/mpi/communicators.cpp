// A random, correct program of communicators: made in every way that MPI has, used by collectives, and freed,
// also with collectives in flight. Each collective's result is compared with what it must be.
//   communicators-<mpi> SEED THREADS
// THREADS 0: one thread, MPI_THREAD_SINGLE. Otherwise so many threads run such a program at once, each on a
// duplicate of MPI_COMM_WORLD of its own. Rank 0 prints "ok" at the end.
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "persistent_forms.hpp"

namespace {

std::atomic<int> wrong{0};
bool threads = false;

// Equal on all ranks of a communicator where it is seeded alike.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }
    bool one_in(int times) { return below(times) == 0; }
    std::uint64_t seed() { return engine_(); }

  private:
    std::mt19937_64 engine_;
};

int rank_of(MPI_Comm communicator) {
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    return rank;
}
int ranks_of(MPI_Comm communicator) {
    int ranks = 0;
    MPI_Comm_size(communicator, &ranks);
    return ranks;
}

void check(bool right, const char* what) {
    if (right) return;
    ++wrong;
    std::printf("%s: wrong result\n", what);
    std::fflush(stdout);
}

// A collective in flight, and what it must give.
class Started {
  public:
    Started(MPI_Comm communicator, Random& random) {
        const int rank = rank_of(communicator);
        const int ranks = ranks_of(communicator);
        const int value = random.below(1000);
        const auto all = static_cast<std::size_t>(ranks);
        switch (random.below(5)) {
            case 0:
                MPI_Ibarrier(communicator, &request);
                break;
            case 1: {
                const int root = random.below(ranks);
                out_ = {rank == root ? value : -1};
                expected_ = {value};
                MPI_Ibcast(out_.data(), 1, MPI_INT, root, communicator, &request);
                break;
            }
            case 2:
                in_ = {value + rank};
                out_ = {-1};
                expected_ = {ranks * value + ranks * (ranks - 1) / 2};
                MPI_Iallreduce(in_.data(), out_.data(), 1, MPI_INT, MPI_SUM, communicator, &request);
                break;
            case 3:
                in_.assign(all, value + rank);
                out_.assign(all, -1);
                for (int i = 0; i < ranks; ++i) expected_.push_back(value + i);
                MPI_Ialltoall(in_.data(), 1, MPI_INT, out_.data(), 1, MPI_INT, communicator, &request);
                break;
            default:
                in_ = {value + rank};
                out_.assign(all, -1);
                for (int i = 0; i < ranks; ++i) expected_.push_back(value + i);
                MPI_Iallgather(in_.data(), 1, MPI_INT, out_.data(), 1, MPI_INT, communicator, &request);
        }
    }
    void wait() {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(out_ == expected_, "nonblocking");
    }

  private:
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<int> in_, out_, expected_;
};

void persistent(MPI_Comm communicator) {
    int in = rank_of(communicator);
    int out = -1;
    const int ranks = ranks_of(communicator);
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

// Two halves of a communicator meet in an intercommunicator, which is merged.
MPI_Comm merged(MPI_Comm communicator, int tag) {
    const int ranks = ranks_of(communicator);
    MPI_Comm made = MPI_COMM_NULL;
    if (ranks < 2) {
        MPI_Comm_dup(communicator, &made);
        return made;
    }
    const bool low = rank_of(communicator) < ranks / 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Comm_split(communicator, low ? 0 : 1, 0, &half);
    MPI_Intercomm_create(half, 0, communicator, low ? ranks / 2 : 0, tag, &both);
    int in = 1;
    int out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, both);
    check(out == (low ? ranks - ranks / 2 : ranks / 2), "intercommunicator");
    MPI_Intercomm_merge(both, low ? 0 : 1, &made);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    return made;
}

// Null on ranks that are not in it. `group`: which one of several that are made at once this rank is in.
MPI_Comm make(MPI_Comm communicator, Random& random, int* group) {
    const int rank = rank_of(communicator);
    int ranks = ranks_of(communicator);
    MPI_Comm made = MPI_COMM_NULL;
    *group = 0;
    // Random on its own, but equal on all ranks.
    const int way = random.below(12);
    const int modulus = 1 + random.below(ranks);
    const int tag = random.below(1000);
    const bool flag = random.one_in(2);
    switch (way) {
        case 0:
            MPI_Comm_dup(communicator, &made);
            break;
        case 1: {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Comm_idup(communicator, &made, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        }
        case 2:
            MPI_Comm_dup_with_info(communicator, MPI_INFO_NULL, &made);
            break;
        case 3:
        case 4:
            *group = rank % modulus;
            MPI_Comm_split(communicator, *group, flag ? rank : -rank, &made);
            break;
        case 5:
            *group = rank < modulus ? 0 : MPI_UNDEFINED;
            MPI_Comm_split(communicator, *group, 0, &made);
            break;
        case 6: {
            MPI_Group some = first_ranks(communicator, modulus);
            MPI_Comm_create(communicator, some, &made);
            MPI_Group_free(&some);
            break;
        }
        case 7: {
            MPI_Group some = first_ranks(communicator, modulus);
            if (rank < modulus) MPI_Comm_create_group(communicator, some, tag, &made);
            MPI_Group_free(&some);
            break;
        }
        case 8: {
            const int periods[1] = {1};
            MPI_Cart_create(communicator, 1, &ranks, periods, 0, &made);
            break;
        }
        case 9: {
            const int before[1] = {(rank + ranks - 1) % ranks};
            const int after[1] = {(rank + 1) % ranks};
            MPI_Dist_graph_create_adjacent(communicator, 1, before, MPI_UNWEIGHTED, 1, after, MPI_UNWEIGHTED,
                                           MPI_INFO_NULL, 0, &made);
            break;
        }
        case 10:
            MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
            // Which ranks are in it depends on the hosts.
            if (made != MPI_COMM_NULL) {
                *group = rank;
                MPI_Bcast(group, 1, MPI_INT, 0, made);
            }
            break;
        default:
            made = merged(communicator, tag);
    }
    return made;
}

// NOLINTNEXTLINE(misc-no-recursion)
void live(MPI_Comm communicator, Random random, int depth) {
    std::vector<Started> in_flight;
    const int steps = 2 + random.below(4);
    for (int step = 0; step < steps; ++step) {
        switch (random.below(depth > 0 ? 4 : 2)) {
            case 0:
                in_flight.emplace_back(communicator, random);
                break;
            case 1: {
                Started one(communicator, random);
                one.wait();
                break;
            }
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
                if (in_use) in_flight.emplace_back(made, last);
                MPI_Comm_free(&made);
            }
        }
        if (in_flight.size() > 3 || random.one_in(3)) {
            // In any order.
            while (!in_flight.empty()) {
                in_flight.back().wait();
                in_flight.pop_back();
            }
        }
    }
    for (Started& one : in_flight) one.wait();
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    threads = count > 0;
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (threads && provided < MPI_THREAD_MULTIPLE) {
        if (rank_of(MPI_COMM_WORLD) == 0) std::puts("no threads");
    } else if (!threads) {
        live(MPI_COMM_WORLD, Random(seed), 3);
    } else {
        std::vector<MPI_Comm> bases(static_cast<std::size_t>(count), MPI_COMM_NULL);
        for (MPI_Comm& base : bases) MPI_Comm_dup(MPI_COMM_WORLD, &base);
        std::vector<std::thread> running;
        for (std::size_t i = 0; i < bases.size(); ++i)
            running.emplace_back([&, i] { live(bases[i], Random(seed * 100 + i), 2); });
        for (std::thread& thread : running) thread.join();
        for (MPI_Comm& base : bases) MPI_Comm_free(&base);
    }
    int all = 0;
    const int mine = wrong;
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0) std::puts(all == 0 ? "ok" : "WRONG");
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
