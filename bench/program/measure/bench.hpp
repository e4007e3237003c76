// What all benchmarks share: the settings, the ranks, the communicators, and rounds.
//
// A time, in seconds, is that of the slowest rank in an iteration, because a program's step ends with its
// last rank; and the mean over the iterations of a phase. A round gives one sample of each phase of each
// engine, so that compared samples are close in time.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program/compute/compute.hpp"
#include "program/mpi/exchange.hpp"
#include "program/settings.hpp"
#include "program/sockets/mesh.hpp"
#include "program/sockets/plain.hpp"

namespace lapwing::bench {

struct Bench {
    Settings settings;
    MPI_Comm world = MPI_COMM_NULL;  // for everything that is not measured
    int rank = 0;
    int ranks = 0;
    bool oversubscribed = false;       // more ranks than processors on some machine
    double operations_per_second = 0;  // of work(), all ranks at once; 0: not calibrated
    std::uint64_t exchanges = 0;       // so far; equal on all ranks
    std::unique_ptr<Mesh> mesh;
    std::unique_ptr<Plain> plain;        // null without the limit
    std::function<void(double)> report;  // share of a group that is done

    // The communicator of an engine; another one for each algorithm (as in LAPWING_ALGORITHM) and purpose.
    // Made at the first request; collective.
    const Caller& caller(const std::string& engine, const std::string& algorithm = {},
                         const std::string& purpose = {});
    void free_callers();

    // A barrier, outside of all timing.
    void gather_ranks() const;
    // The largest over the ranks, for each element.
    void slowest(std::vector<double>& seconds) const;
    void sum(std::vector<double>& values) const;
    double slowest(double seconds) const;

  private:
    struct Known {
        std::string key;
        Caller caller;
    };
    std::vector<std::unique_ptr<Known>> callers_;
};

double mean(const std::vector<double>& values);
double median(std::vector<double> values);

// Sets operations_per_second.
void calibrate(Bench& bench);

// Runs the phases of each round in turn; each round begins with another phase.
void run_rounds(const Bench& bench, const std::vector<std::function<void()>>& phases,
                const std::function<void()>& begin, const std::function<void()>& end);

// The engine that served the communicator, by Lapwing's answer; "mpi" for direct calls; empty if unknown.
std::string engine_used(const Caller& caller);

}  // namespace lapwing::bench
