// Comparison of the calls of collectives that ranks recorded, and their words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "watch/snapshot.hpp"

namespace lapwing::watch {

// What two ranks disagree on, in the order in which it is compared.
enum class Difference : std::uint8_t { none, function, root, operation, type, bytes };

// Compares two calls with the same number on the same communicator. MPI_Bcast matches MPI_Bcast_c; a blocking
// collective does not match its nonblocking form.
Difference difference(const CollectiveCall& one, const CollectiveCall& other);
// Two calls without a difference have the same hash.
std::uint64_t hash_of(const CollectiveCall& call);
// "the roots differ"
const char* name(Difference difference);

// "MPI_Ibcast (root 0, 8 bytes)", "MPI_Iallreduce (MPI_DOUBLE, MPI_SUM, 800 bytes)"
std::string describe(const CollectiveCall& call);
// The call of the thread that has been inside MPI for longest; if no thread is inside, the last call.
const CurrentCall& oldest_call(const RankSnapshot& rank);
// Whether that call is one of a loop: of a function that returns at once, as MPI_Test and MPI_Iprobe.
bool polls(const RankSnapshot& rank);
// " at solver.c:88"; empty if the place is unknown.
std::string at(std::string_view where);
// "41 s", "250 ms", "2 min 5 s"
std::string duration(std::uint64_t nanoseconds);
// "0-2, 7" of ascending numbers. Names at most 12 runs: "0, 2, 4, ... (4096 in all)".
std::string ranges(std::span<const int> ranks);
// "rank 7", "ranks 0-2, 7"
std::string ranks_in_words(std::span<const int> ranks);

}  // namespace lapwing::watch
