// What all benchmarks share: the settings, the ranks, the communicators, and rounds.
//
// A time, in seconds, is that of the slowest rank in an iteration, because a program's step ends with its
// last rank; and the mean over the iterations of a phase. A round gives one sample of each phase of each row.
//
// A job measures one engine, or the MPI alone: `lapwing bench` runs the jobs in turns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program/compute.hpp"
#include "program/exchange.hpp"
#include "program/mesh.hpp"
#include "program/settings.hpp"

namespace lapwing::bench {

struct Bench {
    Settings settings;
    MPI_Comm world = MPI_COMM_NULL;  // for everything that is not measured: left to the MPI
    int rank = 0;
    int ranks = 0;
    bool oversubscribed = false;                 // more ranks than processors on some machine
    double operations_per_second = 0;            // of work(), all ranks at once; 0: not calibrated
    std::uint64_t exchanges = 0;                 // so far; equal on all ranks
    std::map<std::string, std::uint64_t> calls;  // measured collectives that this rank has called, by name
    std::unique_ptr<Mesh> mesh;
    std::function<void(double)> report;  // share of a group that is done

    // A communicator for what is measured; another one for each algorithm (as in LAPWING_ALGORITHM) and
    // purpose. Made at the first request; collective.
    MPI_Comm communicator(const std::string& algorithm = {}, const std::string& purpose = {});
    void free_communicators();

    // A barrier, outside of all timing.
    void gather_ranks() const;
    // The largest over the ranks, for each element.
    void slowest(std::vector<double>& seconds) const;
    void sum(std::vector<double>& values) const;
    double slowest(double seconds) const;

  private:
    std::map<std::string, MPI_Comm> communicators_;  // by algorithm and purpose: in one order on all ranks
};

double mean(const std::vector<double>& values);

// Sets operations_per_second.
void calibrate(Bench& bench);

// Runs the phases of each round in turn; each round begins with another phase.
void run_rounds(const Bench& bench, const std::vector<std::function<void()>>& phases,
                const std::function<void()>& begin, const std::function<void()>& end);

// One collective, or several at once, in the benchmarks that compute.

// The buffers of collectives that are in flight at once.
using Exchanges = std::vector<std::unique_ptr<Exchange>>;
std::shared_ptr<Exchanges> make_exchanges(Bench& bench, Collective collective, std::uint64_t bytes,
                                          int count = 1);

class Subject {
  public:
    // `phase_seconds`: a phase has as many iterations as fit into it, one at least, if the settings do not
    // say how many.
    Subject(Bench& bench, std::shared_ptr<Exchanges> exchanges, double phase_seconds = 0.01);

    // Connections, plans and caches are made before anything is timed. Once, however often it is called.
    void warm_up();
    double base_seconds() const { return base_seconds_; }  // of the warm-up; equal on all ranks
    int iterations() const { return iterations_; }

    // Not timed: a link that was idle lets the first bytes pass faster than its rate, and caches are cold.
    void lead_in();
    // The time of start and wait, of a phase of iterations.
    double base();
    // The time of a block alone, on all ranks at once, of a phase of iterations.
    double alone(const Block& block);

    // A phase of iterations after a lead-in, each with start, `compute` and wait. `compute` gets the moment
    // after the start, and returns the seconds that it has spent in tests. The result: of each iteration.
    struct Times {
        std::vector<double> start;
        std::vector<double> test;
        std::vector<double> wait;
        std::vector<double> total;
    };
    Times beside(const std::function<double(double started)>& compute);

    // One iteration, in this order. start(): fresh data, all ranks together, and start.
    struct Moments {
        double begin;
        double started;
    };
    Moments start();
    bool test();  // each collective; true when all are complete
    void wait();
    void check();

    Bench& bench() { return bench_; }

  private:
    void fit_iterations(double base_seconds);
    double run_once();

    Bench& bench_;
    MPI_Comm communicator_;
    std::shared_ptr<Exchanges> exchanges_;
    std::vector<MPI_Request> requests_;
    double phase_seconds_;
    int iterations_ = 1;
    int lead_in_ = 1;
    double base_seconds_ = 0;
};

}  // namespace lapwing::bench
