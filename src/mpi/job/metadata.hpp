// What a traced rank writes beside its events (base/trace.hpp): lines of JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lapwing {

class RankLocations;

// Bytes that are no UTF-8 are replaced.
void add_metadata(const nlohmann::ordered_json& fact);
// The fact of add_clock_metadata(); empty if the MPI refuses.
nlohmann::ordered_json clock_fact(const RankLocations& locations, const char* when);
// How this host's clock goes beside that of rank 0's. Collective over MPI_COMM_WORLD. `when`: "begin" or
// "end".
void add_clock_metadata(const RankLocations& locations, const char* when);

}  // namespace lapwing
