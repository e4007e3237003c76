// The settings of the MPI program of `lapwing bench`: one JSON object as the only argument.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "task/problem.hpp"

namespace lapwing::bench {

// How a rank computes: without calling MPI; with tests until the collective is complete; for a time instead
// of an amount.
enum class Method { wait, poll, fixed };
// automatic: sleep where ranks outnumber processors, else work. dgemm: matrix products, no setting: the
// benchmarks of throughput use them.
enum class Compute { work, sleep, automatic, dgemm };

struct Settings {
    std::string benchmark;
    std::string engine;  // of the job; "native": the MPI alone, without Lapwing's library
    std::vector<Collective> collectives;
    std::vector<std::uint64_t> bytes;  // of a block; where blocks are uneven, of the average one
    std::vector<Method> methods;       // of overlap
    Compute compute = Compute::automatic;
    int rounds = 0;
    int min_rounds = 0;
    double seconds =
        0;  // for the rounds of a group of rows, of which there are min_rounds at least; 0: no limit
    int iterations = 0;          // of each phase in a round; 0: as many as fit into 10 ms, at least one
    double work_factor = 0;      // work is so many times the base time
    double quantum_seconds = 0;  // of work between two tests; 0: a hundredth of the base time
    bool corrupt = false;        // a byte of each result is made wrong, for tests
    nlohmann::json work;         // the amounts that an earlier job chose: Bench::work

    // What is measured for each of these, where the benchmark has such an x axis or such variants.
    std::vector<double> work_shares;       // of overlap by steps: work, in base times
    std::vector<int> tests;                // calls of MPI_Test beside the computation
    std::uint64_t bytes_per_test = 0;      // of overhead: a test for so many bytes; 0: none
    std::vector<std::string> forms;        // of latency: "blocking", "nonblocking"
    std::vector<int> processes;            // numbers of ranks; empty: all
    std::vector<int> windows;              // of window
    std::vector<int> collectives_at_once;  // of concurrent
    std::vector<double> frequencies_hz;    // of noise
    std::vector<double> burst_seconds;     // of noise
};

// Throws std::exception for anything that `lapwing bench` does not write.
Settings read_settings(const char* text);

const char* name(Method method);
const char* name(Compute compute);

}  // namespace lapwing::bench
