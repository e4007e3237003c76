#include "program/mpi/job/rank_locations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

namespace lapwing::bench {

std::vector<Place> places_of_ranks(MPI_Comm communicator) {
    Place own;
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    boot.copy(own.machine.data(), own.machine.size() - 1);
    sched_getaffinity(0, sizeof own.processors, &own.processors);
    int ranks = 0;
    PMPI_Comm_size(communicator, &ranks);
    std::vector<Place> all(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator);
    return all;
}

std::string in_words(const cpu_set_t& processors) {
    std::string list;
    for (int first = 0; first < CPU_SETSIZE; ++first) {
        if (!CPU_ISSET(first, &processors)) continue;
        int last = first;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &processors)) ++last;
        list += fmt::format("{}{}", list.empty() ? "" : ",", first);
        if (last > first) list += fmt::format("-{}", last);
        first = last;
    }
    return list;
}

std::size_t machines_of(const std::vector<Place>& places) {
    std::set<std::array<char, 64>> machines;
    for (const Place& place : places) machines.insert(place.machine);
    return machines.size();
}

bool more_ranks_than_processors(const std::vector<Place>& places) {
    return std::any_of(places.begin(), places.end(), [&](const Place& one) {
        cpu_set_t together;
        CPU_ZERO(&together);
        int ranks = 0;
        for (const Place& other : places) {
            if (other.machine != one.machine) continue;
            CPU_OR(&together, &together, &other.processors);
            ++ranks;
        }
        return ranks > CPU_COUNT(&together);
    });
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

}  // namespace lapwing::bench
