// What all benchmarks have: the settings, the ranks, the communicators, and rounds.
//
// Times are seconds: in each iteration that of the slowest rank, as a program's step ends when its last rank
// does; of a phase's iterations the mean. A round gives one sample of each phase of each engine, so that
// samples that are compared lie beside each other in time.
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
    MPI_Comm world = MPI_COMM_NULL;  // the program's own, for what is not measured
    int rank = 0;
    int ranks = 0;
    bool crowded = false;              // more ranks than processors on some machine
    double operations_per_second = 0;  // of work(), all ranks at once; 0: not calibrated
    std::uint64_t exchanges = 0;       // so far; equal on all ranks
    std::unique_ptr<Mesh> mesh;
    std::unique_ptr<Plain> plain;        // null without the limit
    std::function<void(double)> report;  // share of a group that is done

    // The communicator of an engine. An algorithm, as LAPWING_ALGORITHM has it, and a purpose have one of
    // their own, which is made when it is asked for first; collective.
    const Caller& caller(const std::string& engine, const std::string& algorithm = {},
                         const std::string& purpose = {});
    void free_callers();

    // All ranks go on together. Outside of all timing.
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

// The phases of a round in turn; each round begins with another one. As many rounds as the settings say.
void run_rounds(const Bench& bench, const std::vector<std::function<void()>>& phases,
                const std::function<void()>& begin, const std::function<void()>& end);

// Which engine served the communicator: what Lapwing says; "mpi" for direct calls; empty when nobody says.
std::string engine_used(const Caller& caller);

}  // namespace lapwing::bench
