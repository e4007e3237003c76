// What a program sees of the thread of Lapwing that drives the native MPI's progress: its large messages move
// while it computes, and nothing else changes. One part per run:
//   computing-<mpi> PART [ARGUMENT]
// With the argument "watch", a rank calls no MPI function until the last byte of its receive buffer has
// changed. Without a thread that drives the MPI it does so for ever. Rank 0 prints what holds; a rank that
// finds an error prints it and ends the job.
#include <fenv.h>

#include "computing/exchange.hpp"

int main(int argc, char** argv) {
    using namespace computing;
    const std::string part = argc > 1 ? argv[1] : "";
    const std::string argument = argc > 2 ? argv[2] : "";
    arguments = argv;
    watches = argument == "watch";
    Parts parts = {{"session", session}};
    for (Parts more : {messages(), ends(), processes(), callbacks()}) parts.merge(more);
    // Threads that are made from now on inherit the traps.
    if (part == "traps") ::feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    if (part == "level") {
        level(argument);
    } else if (part == "registration") {
        registration(argument);
    } else {
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(nullptr, nullptr, argument == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                        &provided);
        parts.at(part)();
    }
    say("all right");
    MPI_Finalize();
    return 0;
}
