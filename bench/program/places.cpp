#include "places.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace lapwing::bench {

std::string machine() {
    std::string id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
    return id;
}

std::string processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::string list;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set)) list += fmt::format("{}{}", list.empty() ? "" : ",", i);
    }
    return list;
}

std::string mpi_version() {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    std::string result = version;
    result.resize(std::min(result.size(), result.find_first_of(",\n")));
    const std::string between = " Version:";
    const std::size_t at = result.find(between);
    if (at == std::string::npos) return result;
    const std::size_t number = std::min(result.size(), result.find_first_not_of("\t ", at + between.size()));
    return fmt::format("{} {}", result.substr(0, at), result.substr(number));
}

std::vector<std::string> of_all_ranks(MPI_Comm communicator, const std::string& own) {
    using Text = std::array<char, 128>;
    Text mine{};
    own.copy(mine.data(), mine.size() - 1);
    int ranks = 0;
    PMPI_Comm_size(communicator, &ranks);
    std::vector<Text> all(static_cast<std::size_t>(ranks));
    PMPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(),
                   static_cast<int>(mine.size()), MPI_BYTE, communicator);
    std::vector<std::string> result;
    for (const Text& one : all) result.emplace_back(one.data());
    return result;
}

bool more_ranks_than_processors(MPI_Comm communicator) {
    const std::string own = machine();
    const std::vector<std::string> machines = of_all_ranks(communicator, own);
    int crowded = std::count(machines.begin(), machines.end(), own) > sysconf(_SC_NPROCESSORS_ONLN) ? 1 : 0;
    PMPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, communicator);
    return crowded != 0;
}

}  // namespace lapwing::bench
