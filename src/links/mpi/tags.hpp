// The tags of messages on the communicator that all groups share (mpi_link.hpp).
#pragma once

#include <cstdint>

namespace lapwing {

// The slots that are taken from the start, on each rank.
enum : std::uint32_t {
    slot_of_all,        // of the group of all ranks
    slot_of_exchanges,  // of the exchanges at the start and the end of the job
};

// How many slots the native MPI has tags for.
std::uint32_t message_slots();
int message_tag(std::uint32_t slot, std::uint32_t channel);

}  // namespace lapwing
