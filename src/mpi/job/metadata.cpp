#include "mpi/job/metadata.hpp"

#include <mpi.h>

#include <nlohmann/json.hpp>

#include "base/trace.hpp"
#include "mpi/job/clock.hpp"

namespace lapwing {

void add_metadata(const nlohmann::ordered_json& fact) {
    trace::add_metadata(fact.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

nlohmann::ordered_json clock_fact(const RankLocations& locations, const char* when) {
    ClockReading reading;
    if (read_clock(locations, &reading) != MPI_SUCCESS) return {};
    return {{"fact", "clock"},          {"when", when},           {"at", reading.at},
            {"offset", reading.offset}, {"error", reading.error}, {"host_leader", reading.host_leader}};
}

void add_clock_metadata(const RankLocations& locations, const char* when) {
    if (const nlohmann::ordered_json fact = clock_fact(locations, when); !fact.empty()) add_metadata(fact);
}

}  // namespace lapwing
