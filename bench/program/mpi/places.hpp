// Where the ranks of a benchmark run.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <array>
#include <string>
#include <vector>

namespace lapwing::bench {

struct Place {
    // Hosts of one machine (containers, network namespaces) share its boot: an identifier of that.
    std::array<char, 64> machine{};
    cpu_set_t processors{};  // that the rank may use
};
// By rank. Collective.
std::vector<Place> places_of_ranks(MPI_Comm communicator);
// As "0-3,8".
std::string in_words(const cpu_set_t& processors);
// How many machines they are on.
std::size_t machines_of(const std::vector<Place>& places);
// Whether on some machine there are more ranks than processors that they may use.
bool more_ranks_than_processors(const std::vector<Place>& places);
// "Open MPI v4.1.4", "MPICH 4.0.2": of what the library says, the beginning.
std::string mpi_version();
// What each rank says of itself, known to all; up to 127 characters. Collective.
std::vector<std::string> of_all_ranks(MPI_Comm communicator, const std::string& own);

}  // namespace lapwing::bench
