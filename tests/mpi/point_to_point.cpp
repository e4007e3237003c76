// A random, correct program of point-to-point messages, by a plan that all ranks derive from the seed
// (point_to_point/plan.hpp). How a rank completes its requests, and how long it computes in between, is its
// own choice. Every byte of each receive buffer, holes included, and every status are compared with the plan.
//   point_to_point-<mpi> SEED THREADS [turns]
// THREADS 0: one thread, of the thread level that the seed chooses. Otherwise this number of threads run such
// a program at once, by MPI_THREAD_MULTIPLE, each on communicators of its own.
//   turns     MPI_THREAD_SERIALIZED: each round of the program is run by another thread
// Rank 0 prints "ok" at the end. At the first difference a rank prints its rank, the seed and the round, and
// aborts.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "point_to_point/program.hpp"

namespace point_to_point {

Program::Program(std::uint64_t seed, int thread, bool threads, Communicators& communicators)
    : seed_(seed),
      plan_(seed * 100 + static_cast<std::uint64_t>(thread)),
      own_(seed * 10'000 + static_cast<std::uint64_t>(thread * 100 + world_rank)),
      threads_(threads),
      communicators_(communicators) {}

void Program::run(int number) {
    number_ = number;
    const Round& round = rounds_.emplace_back(random_round(plan_, communicators_, number));
    round_ = &round;
    if (!threads_) attach(round);
    if (own_.one_in(4)) post_without_message();
    if (own_.one_in(4)) without_peer();
    make_persistent();
    for (iteration_ = 0; iteration_ < round.iterations; ++iteration_) {
        receive_early();
        if (round.ready_barrier) MPI_Barrier(communicators_.all);
        send_early();
        if (round.collective) start_collective();
        if (round.partitions > 0) start_partitioned();
        compute();
        walk();
        compute();
        complete(round.last_barrier || round.iterations > 1 || own_.one_in(2));
        check_classes();
        if (round.last_barrier) MPI_Barrier(communicators_.all);
    }
    if (round.blocking_collective >= 0) blocking_collective(round.blocking_collective);
    free_persistent();
    if (own_.one_in(2)) cancel();
    if (!threads_ && !attached_.empty()) detach();
}

void Program::end() {
    complete(true);
    cancel();
    // What was freed in flight is received now.
    MPI_Barrier(communicators_.all);
    kept_.clear();
}

void Program::wrong(const std::string& what) const {
    std::printf("rank %d, seed %llu, round %d, iteration %d: %s\n", world_rank,
                static_cast<unsigned long long>(seed_), number_, iteration_, what.c_str());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

void Program::compute() {
    if (own_.one_in(2)) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(own_.below(3'000));
    while (std::chrono::steady_clock::now() < end) {
    }
}

}  // namespace point_to_point

namespace {

using namespace point_to_point;

void live(Program& program, bool turns) {
    const int rounds = program.rounds();
    for (int i = 0; i < rounds; ++i)
        if (turns)
            std::thread([&] { program.run(i); }).join();
        else
            program.run(i);
    program.end();
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    const bool turns = argc > 3 && std::string(argv[3]) == "turns";
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
    const int needed = count > 0 ? MPI_THREAD_MULTIPLE : turns ? MPI_THREAD_SERIALIZED : levels[seed % 3];
    int provided = MPI_THREAD_SINGLE;
    if (seed % 4 == 0 && needed == MPI_THREAD_SINGLE)
        MPI_Init(nullptr, nullptr);
    else
        MPI_Init_thread(nullptr, nullptr, needed, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    if (provided < needed) {
        if (world_rank == 0) std::puts("no threads");
        MPI_Finalize();
        return 0;
    }
    std::vector<std::unique_ptr<Communicators>> communicators;
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < std::max(count, 1); ++i) {
        Random random(seed * 1'000 + static_cast<std::uint64_t>(i));
        communicators.push_back(std::make_unique<Communicators>(random));
        programs.push_back(std::make_unique<Program>(seed, i, count > 0, *communicators.back()));
    }
    if (count > 0) {
        // The threads share the buffer, and cannot know when the others need it no more.
        std::vector<unsigned char> attached(std::size_t{256} << 20);
        MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
        std::vector<std::thread> running;
        for (auto& program : programs) running.emplace_back([&] { live(*program, false); });
        for (std::thread& thread : running) thread.join();
        void* address = nullptr;
        int size = 0;
        MPI_Buffer_detach(&address, &size);
    } else {
        live(*programs.front(), turns);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (auto& one : communicators) one->free();
    if (world_rank == 0) std::puts("ok");
    MPI_Finalize();
    return 0;
}
