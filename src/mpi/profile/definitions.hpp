// What events refer to by number: sites in the program and communicators. Each is written once, as a fact of
// base/trace.hpp.
//
// Thread-safe: each function takes the lock of the profile, unless its comment says otherwise.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/profiled_bytes.hpp"

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

// The place that makes this call. Two calls in one line are two sites. With the lock held.
std::uint32_t site_of(const CallSite& site);

// The communicator is not null.
std::shared_ptr<Communicator> find(MPI_Comm communicator);

}  // namespace lapwing::profile
