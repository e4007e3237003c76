#include "program/ranks.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"

namespace lapwing::bench {

std::vector<RankLocation> locations_of_ranks(MPI_Comm communicator) {
    RankLocation own;
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    boot.copy(own.machine.data(), own.machine.size() - 1);
    sched_getaffinity(0, sizeof own.processors, &own.processors);
    int ranks = 0;
    MPI_Comm_size(communicator, &ranks);
    std::vector<RankLocation> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator);
    return all;
}

std::string in_words(const cpu_set_t& processors) {
    std::vector<int> numbers;
    for (int number = 0; number < CPU_SETSIZE; ++number)
        if (CPU_ISSET(number, &processors)) numbers.push_back(number);
    return print_ranges(numbers);
}

std::size_t machines_of(const std::vector<RankLocation>& locations) {
    std::set<std::array<char, 64>> machines;
    for (const RankLocation& location : locations) machines.insert(location.machine);
    return machines.size();
}

bool more_ranks_than_processors(const std::vector<RankLocation>& locations) {
    return std::any_of(locations.begin(), locations.end(), [&](const RankLocation& one) {
        cpu_set_t together;
        CPU_ZERO(&together);
        int ranks = 0;
        for (const RankLocation& other : locations) {
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

// Hints on a new communicator, before its first collective.
MPI_Comm duplicate_for(MPI_Comm parent, const std::string& engine, const std::string& algorithms) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(parent, &made);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    if (!engine.empty()) MPI_Info_set(info, "lapwing_engine", engine.c_str());
    if (!algorithms.empty()) MPI_Info_set(info, "lapwing_algorithm", algorithms.c_str());
    MPI_Comm_set_info(made, info);
    MPI_Info_free(&info);
    return made;
}

std::string engine_of(MPI_Comm communicator) {
    MPI_Info info = MPI_INFO_NULL;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Comm_get_info(communicator, &info);
    MPI_Info_get(info, "lapwing_engine_used", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found != 0 ? value : "";
}

std::vector<std::string> of_all_ranks(MPI_Comm communicator, const std::string& own) {
    int ranks = 0;
    MPI_Comm_size(communicator, &ranks);
    const int length = static_cast<int>(own.size());
    std::vector<int> lengths(static_cast<std::size_t>(ranks));
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, communicator);
    std::vector<int> offsets;
    int total = 0;
    for (const int one : lengths) {
        offsets.push_back(total);
        total += one;
    }
    std::string texts(static_cast<std::size_t>(total), '\0');
    MPI_Allgatherv(own.data(), length, MPI_CHAR, texts.data(), lengths.data(), offsets.data(), MPI_CHAR,
                   communicator);
    std::vector<std::string> result;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank)
        result.push_back(
            texts.substr(static_cast<std::size_t>(offsets[rank]), static_cast<std::size_t>(lengths[rank])));
    return result;
}

nlohmann::json surroundings(MPI_Comm communicator) {
    utsname system{};
    uname(&system);
    return {{"mpi", mpi_version()},
            {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
            {"hosts", of_all_ranks(communicator, system.nodename)},
            {"more_ranks_than_processors", more_ranks_than_processors(locations_of_ranks(communicator))}};
}

int run_program(int argument_count, char** arguments, const char* subcommand,
                const std::function<void(int rank, int ranks, const char* settings)>& run) {
    int provided = 0;
    MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        if (argument_count != 2) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("only `lapwing {}` starts this program", subcommand));
        }
        run(rank, ranks, arguments[1]);
    } catch (const std::exception& error) {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        print_message("lapwing {}: rank {} on {}: {}\n", subcommand, rank, host, error.what());
        std::fflush(nullptr);
        // MPICH's launcher drops what it has not forwarded yet when a rank aborts.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}

}  // namespace lapwing::bench
