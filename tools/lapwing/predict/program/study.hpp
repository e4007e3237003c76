// Simulates a recorded program as it ran, and with other engines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lapwing/predict/jobs.hpp"
#include "lapwing/predict/program/iteration.hpp"
#include "simulate/recorded/sizes.hpp"

namespace lapwing::tool {

// Of one engine and one disturbance. Seconds.
struct PredictedProgram {
    const simulate::Engine* engine = nullptr;
    std::string noise;          // empty: none
    std::vector<double> total;  // of the run, for each seed
    double computing = 0;       // of the slowest rank
    double mean_computing = 0;  // of a rank, with the turns of others on shared cores
    double communication = 0;   // the calls alone, without computation between them, undisturbed
    double in_mpi = 0;          // of a rank, on average
    std::vector<double> sites;  // in the calls of each site, of a rank, on average
    std::uint64_t messages = 0;
    // Of a recorded run, as above: if the program waited for collectives one computation later, and the
    // engine ran the blocking ones, too.
    double total_if_moved = 0;
    std::vector<double> sites_if_moved;
    std::vector<DrawnSpan> iteration;  // of a recorded run
    // On other ranks than recorded: the total with the smallest and the largest exponents that fit the
    // recordings.
    double smallest = 0;
    double largest = 0;

    // What hides of the communication: 1 if the program takes as long as its computation.
    double overlap() const;
};

// A recorded run whose collectives take no time: what is left are late ranks, and the program's messages.
struct ProgramBound {
    double total = 0;
    std::vector<double> sites;
};

struct ProgramCase {
    int ranks = 0;
    std::shared_ptr<const simulate::Replay> replay;
    std::shared_ptr<const simulate::Extrapolation>
        extrapolation;  // whose `expected` is `replay`; null: a recorded run
    std::vector<recording::SharedProcessors> shared_then = {};  // in the recorded run
    simulate::SharedCores cores = {};                           // here
    bool tells_processors = true;  // the recording has the processors of its ranks
    std::uint64_t messages = 0;    // of all simulations, about
    std::uint64_t memory = 0;      // about
    std::vector<PredictedProgram> rows = {};
    ProgramBound bound = {};
    std::string left_out = {};  // why there are no rows
};

// Reads the recordings; sets the collectives of the study, and its ranks if it has none. Recorded runs come
// first. Throws Error: system or parse for the recordings, unsupported for what needs more memory than it may
// have.
std::vector<ProgramCase> program_cases_of(Study& study);

// One for each case; `cases` must stay where they are until all have run.
std::vector<Job> jobs_of(const Study& study, std::vector<ProgramCase>& cases);

}  // namespace lapwing::tool
