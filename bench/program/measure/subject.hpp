// One engine with one collective, or with several at once, in the benchmarks that compute.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/measure/bench.hpp"

namespace lapwing::bench {

// The buffers of collectives that are in flight at once. All engines of a row use the same.
using Exchanges = std::vector<std::unique_ptr<Exchange>>;
std::shared_ptr<Exchanges> make_exchanges(const Bench& bench, Collective collective, std::uint64_t bytes,
                                          int count = 1);

class Subject {
  public:
    // `phase_seconds`: a phase has as many iterations as fit into it, one at least, if the settings do not
    // say how many.
    Subject(Bench& bench, const Caller& caller, std::shared_ptr<Exchanges> exchanges,
            double phase_seconds = 0.01);

    // Connections, plans and caches are made before anything is timed. Once, however often it is called.
    void warm_up();
    double base_seconds() const { return base_seconds_; }  // of the warm-up; equal on all ranks
    int iterations() const { return iterations_; }
    const std::string& engine() const { return caller_.engine; }
    const std::string& used() const { return used_; }

    // Not timed: a link that was idle lets the first bytes pass faster than its rate, and caches are cold.
    void lead_in();
    // The time of start and wait, of a phase of iterations.
    double base();
    // The time of a block alone, on all ranks at once, of a phase of iterations.
    double alone(const Block& block);

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
    const Caller& caller_;
    std::shared_ptr<Exchanges> exchanges_;
    std::vector<MPI_Request> requests_;
    double phase_seconds_;
    int iterations_ = 1;
    int lead_in_ = 1;
    double base_seconds_ = 0;
    std::string used_;
};

// One for each engine of the settings.
std::vector<std::shared_ptr<Subject>> make_subjects(Bench& bench, const std::shared_ptr<Exchanges>& exchanges,
                                                    double phase_seconds = 0.01);

}  // namespace lapwing::bench
