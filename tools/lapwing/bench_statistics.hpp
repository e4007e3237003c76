// From the samples of each round to what is printed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lapwing::tool {

// Adds to each engine of each row, and to each engine that was measured idle, an object "summary": of each
// phase and of what follows from them the median and the quartiles over the rounds, as {"q1", "median",
// "q3"}; and "confirmed": the engine is the one that was asked for, or any for "auto".
//   base, start, wait, alone, total   seconds
//   ratio                             of the base time to that of the engine "mpi" in the same round
//   overlap                           fraction; not clipped: noise may take it below 0 or above 1
//   limit                             the same for plain sockets
//   stolen_per_mib                    seconds that the work lost, per MiB that the busiest rank moved
//   loss                              of an idle collective: fraction by which work takes longer
void summarize(nlohmann::json& result);

// True when every engine that was asked for is the one that did the work.
bool all_confirmed(const nlohmann::json& result);

}  // namespace lapwing::tool
