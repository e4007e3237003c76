#include "mpi/facts.hpp"

#include <mpi.h>

#include <nlohmann/json.hpp>

#include "base/trace.hpp"
#include "mpi/clock.hpp"

namespace lapwing {

void add_fact(const nlohmann::ordered_json& fact) {
    trace::add_fact(fact.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void add_clock_fact(const Places& places, const char* when) {
    ClockReading reading;
    if (read_clock(places, &reading) != MPI_SUCCESS) return;
    add_fact({{"fact", "clock"},
              {"when", when},
              {"at", reading.at},
              {"offset", reading.offset},
              {"error", reading.error},
              {"host_leader", reading.host_leader}});
}

}  // namespace lapwing
