// One run of `lapwing tune`: the measurements on one group of ranks.
//
// With one clock for all ranks a time goes from the first start to the last end; else it is that of the
// slowest rank, after a barrier. It is the median over the iterations of a phase, and again over the rounds.
// A round has one phase of each algorithm, in turn, so that other load on the machine affects them alike.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/selection.hpp"
#include "program/mesh.hpp"
#include "task/problem.hpp"

namespace lapwing::tune {

class Call;

// The settings of the program: one JSON object as the only argument.
struct Settings {
    std::vector<std::string> engines;
    std::vector<Collective> collectives;
    RequestedAlgorithms algorithms;  // that are measured beside those of the catalogue
    std::vector<std::uint64_t> bytes;
    std::vector<int> ranks;  // sizes of the groups that are measured; empty: all ranks
    int rounds = 0;          // at most
    double seconds = 0;      // that all of it is to take, about; at least three rounds are measured
};

// Throws std::exception for anything that `lapwing tune` does not write.
Settings read_settings(const char* text);

// The time that is left, divided among the cases that are left.
class Budget {
  public:
    Budget(double seconds, std::size_t cases);
    // Seconds for the next case.
    double next();
    double done() const;  // share of the cases

  private:
    double end_;
    std::size_t cases_;
    std::size_t begun_ = 0;
};

// Blocks of a collective that are measured; a barrier has one.
std::vector<std::uint64_t> sizes_of(Collective collective, const Settings& settings);
// Also those that the constants of the cost model need.
struct Case {
    Collective collective;
    std::uint64_t bytes;
};
std::vector<Case> cases_of(const Settings& settings);

class TuningRun {
  public:
    using Say = std::function<void(const std::string&)>;

    // Collective over `communicator`, which outlives it. `say` is called at rank 0, before each case.
    TuningRun(MPI_Comm communicator, const Settings& settings, Budget& budget, Say say);

    // Whether the ranks are on several hosts, as the preload library sees it.
    bool several_hosts() const { return several_hosts_; }
    // {"engine", "hosts", "ranks", "measured": [{"collective", "bytes", "seconds": {"ring": 0.001}}],
    // "messages": what one costs between the first rank and one on another host, "instead": engines that ran
    // in its place, "host_of": of each rank, where lists may follow it}
    nlohmann::json measure(const std::string& engine);

  private:
    struct Variant;

    void gather();
    nlohmann::json messages(const std::string& engine);
    double median_of_all(std::vector<double>& begins, std::vector<double>& ends) const;
    double phase(MPI_Comm communicator, Call& call, int iterations);
    nlohmann::json measure_case(const std::string& engine, const Case& one, std::vector<Variant>& variants,
                                std::vector<std::string>& instead);

    MPI_Comm communicator_;
    const Settings& settings_;
    Budget& budget_;
    Say say_;
    bench::Mesh mesh_;
    int rank_ = 0;
    int ranks_ = 0;
    bool several_hosts_ = false;
    int other_host_ = 1;                  // a rank that is not on the host of the first, if there is one
    std::vector<std::uint64_t> host_of_;  // by rank
    std::vector<std::vector<std::uint64_t>> groups_;  // inside hosts
    std::shared_ptr<const Placement> placement_;      // null where lists have no hosts or groups to follow
    bool oversubscribed_ = false;
    bool one_clock_ = false;  // all ranks are on one machine, perhaps as several virtual hosts
};

// Seconds for each byte that is copied in memory.
double copy_seconds_per_byte();

}  // namespace lapwing::tune
