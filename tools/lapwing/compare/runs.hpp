// Runs of the variants of a comparison, in turns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lapwing/compare/results.hpp"
#include "lapwing/launch/job.hpp"
#include "lapwing/launch/launch.hpp"

namespace lapwing::tool {

// What the ranks of timed runs have written.
struct Timed {
    std::vector<double> seconds;  // of each run: from MPI_Init to MPI_Finalize on the rank that took longest
    std::vector<double> processor;  // of each run: user and system time of all ranks
};

struct Variant {
    std::string name;
    Launch launch;
    Launch timed_launch;          // the same with the timer
    std::vector<double> seconds;  // of each round
    Timed timed;
};

struct RunLimits {
    std::size_t rounds = 0;
    bool warm_up = true;  // a round before them that does not count
    double seconds = 0;   // for all rounds; 0: no limit. One round always counts
    double within = 0;    // stop when the interval of each variant is narrower than +- this share
};

// Of each run: that of the launcher, or that which the program prints.
struct Measured {
    const PrintedTime& time;
    Results& results;
};

// Of the variant over the first one, for each round.
std::vector<double> ratios(const Variant& native, const Variant& variant);

// Adds the seconds of each complete round to the variants. Returns the status, as waitpid() gives it, with
// which the tool must end: 0; violations_found after a message for a run that failed or computed something
// else; that of a signal which ended the rounds. Throws Error (system) when nothing was started.
int run_rounds(const HeldSignals& held, std::vector<Variant>& variants, const RunLimits& limits,
               Measured measured);

// Runs the timed variants in so many rounds more, whose ranks write to this directory, and adds to
// Variant::timed. Returns as run_rounds(), also if no rank has written.
int run_timed(const HeldSignals& held, std::vector<Variant>& variants, std::size_t rounds,
              const std::string& directory, Measured measured);

}  // namespace lapwing::tool
