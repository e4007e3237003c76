// The ranks of an MPI program that `lapwing bench`, `tune`, `topology` or `doctor` starts.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lapwing::bench {

struct RankLocation {
    // Hosts of one machine (containers, network namespaces) share its boot: an identifier of that.
    std::array<char, 64> machine{};
    cpu_set_t processors{};  // that the rank may use
};
// By rank. Collective.
std::vector<RankLocation> locations_of_ranks(MPI_Comm communicator);
// As "0-3,8".
std::string in_words(const cpu_set_t& processors);
// The number of different machines.
std::size_t machines_of(const std::vector<RankLocation>& locations);
// Whether some machine has more ranks than processors that they may use.
bool more_ranks_than_processors(const std::vector<RankLocation>& locations);
// "Open MPI v4.1.4", "MPICH 4.0.2": the beginning of the library's version.
std::string mpi_version();
// A duplicate of the communicator that asks Lapwing for an engine, and for algorithms as in
// LAPWING_ALGORITHM; empty: for none. Collective.
MPI_Comm duplicate_for(MPI_Comm parent, const std::string& engine, const std::string& algorithms);
// The engine that serves the communicator, by Lapwing's answer; empty if unknown.
std::string engine_of(MPI_Comm communicator);
// The text of each rank, by rank. Collective.
std::vector<std::string> of_all_ranks(MPI_Comm communicator, const std::string& own);

// For results: "mpi", "kernel", "hosts" by rank, "more_ranks_than_processors". Collective.
nlohmann::json surroundings(MPI_Comm communicator);

// The main() of a program whose only argument is its settings: initializes MPI and calls `run`. If `run`
// throws, prints the error and aborts the job. Returns the exit status.
int run_program(int argument_count, char** arguments, const char* subcommand,
                const std::function<void(int rank, int ranks, const char* settings)>& run);

}  // namespace lapwing::bench
