// The MPI program that `lapwing topology` and `lapwing doctor` start on all ranks of a job.
//
//   lapwing-survey-FAMILY places              where each rank runs
//   lapwing-survey-FAMILY collectives SECONDS compares the results of a few collectives with the right ones
//
// It writes lines to standard output that begin with "lapwing-survey ". Rank 0 ends with "result JSON", which
// also has the engine and the links of MPI_COMM_WORLD; collectives.cpp lists the other lines.
#include "survey/main.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "links/tcp/addresses.hpp"
#include "program/ranks.hpp"
#include "topology/location.hpp"

namespace lapwing::survey {
namespace {

using nlohmann::json;

json own_location() {
    const std::vector<int> processors = topology::allowed_processors();
    const topology::Location location = topology::locate(processors);
    return {{"name", tcp::host_name()},    {"host", tcp::host_number()},
            {"processors", processors},    {"processor", location.processor},
            {"package", location.package}, {"node", location.node},
            {"cache", location.cache},     {"core", location.core},
            {"thread", location.thread},   {"bound_to", static_cast<int>(location.bound_to)}};
}

json locations() {
    json all = json::array();
    for (const std::string& one : bench::of_all_ranks(MPI_COMM_WORLD, own_location().dump()))
        all.push_back(json::parse(one));
    return all;
}

// An info value of MPI_COMM_WORLD; empty without Lapwing.
std::string info_value(MPI_Info info, const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found ? value : "";
}

void add_links(json& result) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    result["engine"] = info_value(info, "lapwing_engine_used");
    result["messages"] = info_value(info, "lapwing_messages");
    result["link_inside_host"] = info_value(info, "lapwing_link_inside_host");
    result["link_between_hosts"] = info_value(info, "lapwing_link_between_hosts");
    result["network"] = info_value(info, "lapwing_network");
    MPI_Info_free(&info);
}

}  // namespace

void say(const std::string& words) {
    fmt::print("lapwing-survey {}\n", words);
    std::fflush(stdout);
}

}  // namespace lapwing::survey

int main(int argument_count, char** arguments) {
    using namespace lapwing;
    // The job must not outlive `lapwing doctor`, which gives it so many seconds.
    const bool collectives = argument_count == 3 && std::string_view(arguments[1]) == "collectives";
    if (collectives) alarm(static_cast<unsigned>(std::atoi(arguments[2])));
    const std::string host = tcp::host_name();
    if (collectives) survey::say(fmt::format("started {}", host));
    MPI_Init(&argument_count, &arguments);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (collectives) survey::say(fmt::format("initialized {} {}", rank, host));
    // After the first collective, the engine and the links are known.
    nlohmann::json result;
    if (collectives) {
        result = survey::try_collectives(rank, ranks, host);
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        result = {{"ranks", survey::locations()}};
    }
    if (rank == 0) {
        survey::add_links(result);
        survey::say(
            fmt::format("result {}", result.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
    }
    MPI_Finalize();
    return 0;
}
