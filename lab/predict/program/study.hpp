// Simulates a recorded program as it ran, with the engine that it had and with others.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "predict/jobs.hpp"
#include "simulate/recorded/replay.hpp"

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
    // As above, if the program waited for collectives one computation later, and the engine ran the blocking
    // ones, too.
    std::vector<double> sites_if_moved;

    // What hides of the communication: 1 if the program takes as long as its computation.
    double overlap() const;
};

struct ProgramCase : Job {
    simulate::Replay replay;
    std::vector<recording::SharedProcessors> shared_then = {};  // in the recorded run
    simulate::SharedCores cores = {};                           // here
    bool tells_processors = true;  // the recording has the processors of its ranks
    std::vector<PredictedProgram> rows = {};
    // The sites if collectives took no time: late ranks and the program's messages remain.
    std::vector<double> bound = {};
};

// Reads the recordings; sets the collectives and the ranks of the study. Throws Error: system or parse for
// the recordings, unsupported for a case that needs more memory than --memory allows.
std::vector<ProgramCase> program_cases_of(Study& study);

void simulate_case(const Study& study, ProgramCase& one, ProgressBar& bar);

// The results, in the JSON form of `lapwing bench` and as tables.
nlohmann::ordered_json as_json(const Study& study, const std::vector<ProgramCase>& cases);
std::string as_table(const Study& study, const std::vector<ProgramCase>& cases);

}  // namespace lapwing::tool
