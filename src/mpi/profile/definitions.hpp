// What events and recorded calls refer to by number: sites in the program, communicators, types and so on.
// Each is written once, as a fact of base/trace.hpp and of src/recording/.
//
// Thread-safe: each function takes the lock of the profile, unless its comment says otherwise.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/transfer.hpp"

namespace lapwing::profile {

struct Communicator {
    std::uint32_t number = 0;
    std::uint32_t collectives = 0;  // so far, in the profile
    CallPeers peers;
};

// Guards all that the threads of the program share in the profile.
std::mutex& shared_lock();

// After MPI_Init.
void begin_definitions();

// The file of the recording's facts. Throws Error (system) if it cannot be made.
void create_recorded_facts(const std::string& path);
// Why it is incomplete; empty if it is not.
std::string error_of_recorded_facts();
// Writes the fact to the profile's trace and to that file, whichever there is. With the lock held.
void write_fact(const nlohmann::ordered_json& fact);

// The place that makes this call. Two calls in one line are two sites. With the lock held.
std::uint32_t site_of(const CallSite& site);

// With the lock held. The communicator is not null.
std::shared_ptr<Communicator> find(MPI_Comm communicator);

// Numbers of a recording. 0: the type or the operation is the program's own.
std::uint32_t type_number(MPI_Datatype type);
std::uint32_t operation_number(MPI_Op operation);
// 0: there is no room for more.
std::uint32_t counts_number(const std::vector<std::uint64_t>& counts);

}  // namespace lapwing::profile
