// What a traced rank writes beside its events (base/trace.hpp): lines of JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing {

class Job;
class RankLocations;

// "Open MPI 4.1.4"
std::string mpi_version();
// Bytes that are no UTF-8 are replaced.
void add_metadata(const nlohmann::ordered_json& fact);
// By all ranks together: opens the trace and writes who this rank is. Returns false, with a warning that
// names `made` of it, if one of them cannot: it costs the trace, not the job.
bool open_trace(Job& job, std::uint64_t capacity, const char* made);
// How this host's clock goes beside that of rank 0's. Collective over MPI_COMM_WORLD. `when`: "begin" or
// "end". Does nothing if the MPI refuses.
void add_clock_metadata(const RankLocations& locations, const char* when);

}  // namespace lapwing
