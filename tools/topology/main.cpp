// The MPI program of `lapwing topology`, which starts it and draws what it says: rank 0 writes one line to
// standard output, "lapwing-topology result JSON", of where all ranks are and how Lapwing, preloaded, joins
// them.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "links/tcp/addresses.hpp"
#include "topology/location.hpp"

namespace {

using nlohmann::json;

json own_place() {
    const std::vector<int> processors = lapwing::topology::allowed_processors();
    const lapwing::topology::Location location = lapwing::topology::locate(processors);
    return {{"name", lapwing::tcp::host_name()}, {"host", lapwing::tcp::host_number()},
            {"processors", processors},          {"processor", location.processor},
            {"package", location.package},       {"node", location.node},
            {"cache", location.cache},           {"core", location.core},
            {"thread", location.thread},         {"bound_to", static_cast<int>(location.bound_to)}};
}

// At rank 0 what every rank says.
std::vector<json> gather(const std::string& own, int rank, int ranks) {
    std::vector<int> lengths(static_cast<std::size_t>(ranks));
    const int length = static_cast<int>(own.size());
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> offsets;
    int all = 0;
    for (const int one : lengths) {
        offsets.push_back(all);
        all += one;
    }
    std::string texts(static_cast<std::size_t>(all), '\0');
    MPI_Gatherv(own.data(), length, MPI_CHAR, texts.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
                MPI_COMM_WORLD);
    std::vector<json> result;
    for (int i = 0; rank == 0 && i < ranks; ++i) {
        const auto at = static_cast<std::size_t>(i);
        result.push_back(json::parse(
            texts.substr(static_cast<std::size_t>(offsets[at]), static_cast<std::size_t>(lengths[at]))));
    }
    return result;
}

// What Lapwing says of MPI_COMM_WORLD; empty where it is not asked.
std::string told(MPI_Info info, const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found ? value : "";
}

}  // namespace

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // The engine and the links are known after the first collective.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const std::vector<json> places = gather(own_place().dump(), rank, ranks);
    if (rank == 0) {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Comm_get_info(MPI_COMM_WORLD, &info);
        const json result = {{"engine", told(info, "lapwing_engine_used")},
                             {"link_inside_host", told(info, "lapwing_link_inside_host")},
                             {"link_between_hosts", told(info, "lapwing_link_between_hosts")},
                             {"network", told(info, "lapwing_network")},
                             {"ranks", places}};
        MPI_Info_free(&info);
        fmt::print("lapwing-topology result {}\n",
                   result.dump(-1, ' ', false, json::error_handler_t::replace));
        std::fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
