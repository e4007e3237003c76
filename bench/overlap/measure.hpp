// The measurement of one collective at one size, by all engines in turn, and of idle collectives.
//
// Times are seconds: in each iteration that of the slowest rank, as a program's step ends when its last rank
// does; of a phase's iterations the mean. A round gives one sample of each phase of each engine, so that
// samples that are compared lie beside each other in time.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "compute.hpp"
#include "exchange.hpp"
#include "mesh.hpp"
#include "plain.hpp"
#include "settings.hpp"
#include "traffic.hpp"

namespace lapwing::overlap {

struct Bench {
    Settings settings;
    MPI_Comm world = MPI_COMM_NULL;  // the program's own, for what is not measured
    int rank = 0;
    int ranks = 0;
    bool crowded = false;              // more ranks than processors on some machine
    double operations_per_second = 0;  // of work(), all ranks at once
    std::uint64_t exchanges = 0;       // so far; equal on all ranks
    std::vector<Caller> callers;       // one for each engine
    std::unique_ptr<Mesh> mesh;
    std::unique_ptr<Plain> plain;        // null without the limit
    std::function<void(double)> report;  // share of a row that is done

    // All ranks go on together. Outside of all timing.
    void gather_ranks() const;
    // The largest over the ranks, for each element.
    void slowest(std::vector<double>& seconds) const;
    void sum(std::vector<double>& values) const;
    double slowest(double seconds) const;
};

// Sets operations_per_second.
void calibrate(Bench& bench);

// The phases of a round in turn; each round begins with another one. As many rounds as the settings say.
void run_rounds(const Bench& bench, const std::vector<std::function<void()>>& phases,
                const std::function<void()>& begin, const std::function<void()>& end);

// Which engine served the communicator: what Lapwing says; "mpi" for direct calls; empty when nobody says.
std::string engine_used(const Caller& caller);

nlohmann::json measure_row(Bench& bench, Collective collective, std::uint64_t bytes, Method method);

// The time of a collective when one follows the other at once, and nothing is computed.
nlohmann::json measure_base_row(Bench& bench, Collective collective, std::uint64_t bytes);

// How much longer work takes while a collective is pending in which nothing moves.
nlohmann::json measure_idle(Bench& bench);

}  // namespace lapwing::overlap
