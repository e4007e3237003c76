// What `lapwing bench` asks of its MPI program: one JSON object as the only argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::overlap {

enum class Collective {
    barrier,
    broadcast,
    gather,
    gatherv,
    scatter,
    allgather,
    alltoall,
    alltoallv,
    allreduce
};
// base: nothing is computed, one collective follows the other.
enum class Method { wait, poll, base };
enum class Compute { work, sleep };

struct Settings {
    std::vector<std::string> engines;  // "mpi": the MPI underneath, untouched
    std::vector<Collective> collectives;
    std::vector<std::uint64_t> bytes;  // of a block; where blocks are uneven, of the average one
    std::vector<Method> methods;
    Compute compute = Compute::work;
    int rounds = 0;
    double seconds = 0;          // for the rounds of a row, of which there are three at least; 0: no limit
    int iterations = 0;          // of each phase in a round; 0: as many as fit into 10 ms, at least one
    double work_factor = 0;      // work is so many times the base time
    double quantum_seconds = 0;  // of work between two tests; 0: a hundredth of the base time
    bool limit = false;          // measure plain sockets, too
    bool idle = false;           // measure the loss by a collective that is pending and idle
    std::string interface;       // for the program's own connections; empty: the first that is no loopback
    std::string corrupt;         // engine whose result gets a wrong byte: shows that mistakes are found
};

// Throws std::exception for what `lapwing bench` would not have written.
Settings read_settings(const char* text);

const char* name(Collective collective);  // "MPI_Ibarrier"
const char* name(Method method);

}  // namespace lapwing::overlap
